"""Verbs for what a model does with a call, by language; none for showing, quoting or explaining."""

from __future__ import annotations

import re

_VERBS = (
    "adapt|add|address|adjust|aggregate|align|amend|analyse|analyze|append|apply|archive|back|batch|begin"
    "|benchmark|bind|bisect|blame|boot|bootstrap|bring|broaden|browse|build|bump|bundle|calculate|call|capture"
    "|cast|catch|chain|change|check|cherry-pick|clean|clear|click|clone|close|collect|combine|comment|commit"
    "|compile|compress|compute|configure|confirm|connect|consolidate|continue|convert|copy|correct|count|cover"
    "|create|crop|cut|deal|debug|decode|decouple|decrease|decrypt|deduplicate|delete|deploy|detach|determine|diff"
    "|dig|disable|dive|do|document|double|double-check|downgrade|download|drop|edit|enable|encode|encrypt|ensure"
    "|escape|evaluate|examine|execute|expand|explore|export|expose|extend|extract|factor|fetch|figure|fill|filter"
    "|find|finish|fix|flatten|flush|follow|force-push|format|forward|gather|generalize|generate|get|grab|grep|group|guard|handle"
    "|hash|hit|hook|identify|implement|import|increase|indent|init|initialize|inject|inline|insert|inspect|install"
    "|integrate|investigate|invoke|isolate|join|kill|know|launch|learn|link|lint|list|load|locate|lock|log|look"
    "|make|map|mark|measure|merge|migrate|mock|modify|monitor|mount|move|narrow|navigate|open|optimize|override"
    "|pack|parametrize|parse|pass|patch|perform|pick|pin|ping|pipe|play|plot|plug|polish|populate|post|prepare"
    "|press|probe|proceed|profile|provision|prune|publish|pull|purge|push|put|query|queue|raise|re-read|re-run"
    "|re-try|reach|read|rebase|reboot|rebuild|recheck|record|recover|redo|reduce|refactor|refine|reformat|refresh"
    "|regenerate|register|reindex|reinstall|relax|release|reload|relocate|remount|remove|rename|render|reorder"
    "|reorganise|reorganize|replace|replay|reproduce|reread|rerun|reset|resize|resolve|restart|restore|restructure"
    "|resume|retrieve|retry|reverse|revert|rework|rewrite|roll|rotate|round|route|rule|run|save|scaffold|scale"
    "|scan|schedule|scroll|search|see|seed|select|send|separate|set|shift|ship|shut|sign|simplify|sort|spin|split"
    "|squash|start|stash|step|stop|store|stream|strip|stub|study|style|submit|subscribe|sum|supply|swap|switch"
    "|sync|synchronize|tackle|tag|take|target|test|throw|tidy|tighten|touch|trace|track|trigger|trim"
    "|truncate|try|tune|turn|tweak|uncomment|understand|undo|unify|uninstall|unlock|unpack|untangle|unwrap|unzip"
    "|update|upgrade|upload|use|validate|verify|view|visit|visualize|watch|widen|wipe|wire|work|wrap|write|zip"
    "|zoom"
)
_doubled = re.compile(
    "begin|bootstrap|commit|crop|cut|debug|dig|drop|format|get|grab|grep|hit|log|map|pin|plot|plug|put|re-run|reformat|rerun|reset|run|scan|set|ship|shut|spin|split|stop|step|strip|stub|submit|sum|swap|tag|trim|unzip|unwrap|wrap|zip"
)
"""Verbs whose last letter is doubled before "ing"."""


def _going_on(verb: str) -> str:
    """The form of an English verb that ends with "ing"."""
    if verb.endswith("e") and not verb.endswith("ee"):
        return verb[:-1] + "ing"
    return verb + (verb[-1] if _doubled.fullmatch(verb) else "") + "ing"


_GO = r"(?:\sahead|\son|\sthrough|\swith|\sback|\sover)"
DO = rf"{_VERBS}|go{_GO}|have\sa\s(?:closer\s|quick\s)?look"
"""English, as in "I'll run it"."""
DOING = "|".join(map(_going_on, _VERBS.split("|"))) + rf"|going{_GO}"
"""English, as in "I'm running it"."""
GERMAN = (
    "analysier|änder|beginn|beheb|benenn|bau|entfern|ergänz|ersetz|erstell|erzeug|fang|find|füg|führ|geh|hol"
    "|installier"
    "|korrigier|lad|leg|les|lies|list|lösch|mach|nehm|öffn|pass|anpass|probier|prüf|räum|ruf|schau|schreib"
    "|sehe\\b(?=\\smir)|setz|sieh|start"
    "|starte|such|teste|test|tu|untersuch|überprüf|verschaff|verschieb|wiederhol|wissen|aktualisier|durchsuch"
    "|ansehen|anschau|aufräum"
    "|sehen\\b|ausführ|auflist|anleg|aufruf|nachseh"
)
FRENCH = (
    "vérifi|regard|li[srt]|lanc|exécut|ouvr|cherch|recherch|cré|écri|modifi|corrig|mets|mett|ajout|supprim|nettoy"
    "|install|démarr|commen[cç]|examin|analys|explor|test|list|consult|relanc|inspect|essa[iy]|fai|voir|jet|effac"
    "|renomm"
    "|rempla|récupèr|récupér|utilis|continu"
)
SPANISH = (
    "revis|mir|ver|le[eoa]|ejecut|corr|abr|busc|comprob|compruéb|compruebo|verific|cre|escrib|edit|corrig|correg"
    "|arregl|actualiz"
    "|añad|agreg|elimin|borr|limpi|instal|lanz|inici|empiez|empez|comienz|comenz|examin|analiz|explor|prob|prueb|list"
    "|obten|obteng|consult|modific|cambi|hac|hag|us|intent"
)
PORTUGUESE = (
    "verific|ver|ler|lei|olh|execut|rod|abr|procur|busc|cri|escrev|edit|corrig|atualiz|adicion|remov|apag|limp|instal"
    "|inici|começ|examin|analis|explor|test|list|obt|consult|modific|alter|mud|faz|faç|us|tent"
)
ITALIAN = (
    "controll|ved|legg|guard|esegu|lanci|apr|cerc|cre|scriv|modific|corregg|aggiorn|aggiung|rimuov|elimin|cancell"
    "|pul|install|avvi|inizi|esamin|analizz|esplor|prov|test|elenc|verific|riprov|us"
)
RUSSIAN = (
    "анализиру|возьму|выполн|добав|заглян|замен|запус|запущ|извлек|измен|исправ|исслед|изуч|ищ|найд|нач|обнов|откро"
    "|открыва|очи[сщ]|переимен"
    "|перезапу|поищ|поправ|попроб|посмотр|провер|прогон|прочита|прочт|смотр|созда|стира|удал|установ|устанавлива"
    "|чита|начина"
)
CHINESE = (
    "[检檢]查|查看|查找|看|运行|運行|执行|執行|删除|刪除|读取|讀取|读|讀|修改|修[复復]|修正|创建|創建|新建|搜索|搜尋|查[询詢]|打[开開]|更新|添加|增加"
    "|安[装裝]|清理|清除|[测測][试試]|分析|[获獲]取|列出|[启啟][动動]|[写寫]|[编編][写輯辑]|替[换換]|[调調][整试試]|使用|[确確][认認]|[处處]理|了解|[开開]始|重[试試新]|提交"
    "|定位"
)
JAPANESE = (
    "確認|実行|読|見|調べ|修正|検索|削除|作成|更新|開|取得|追加|テスト|チェック|インストール"
    "|探|書|変更|編集|始め|開始|クリーンアップ|一覧|分析|使|適用"
)
KOREAN = (
    "확인|실행|읽|수정|검색|삭제|살펴|봐|찾|추가|업데이트|열|만들|작성|생성|설치|변경|테스트|시작|분석|조회|보겠|볼게"
)
