"""Words that say nothing about what is below them, by language: agreement, praise, thanks, a greeting, a pause."""

from __future__ import annotations

_WORDS = {
    "English, agreement": (
        r"sure(?: thing)?|ok(?:ay)?(?: then)?|alright(?: then)?|all right|very well|on it|got it|gotcha|you got it"
        r"|will do|can do|of course|certainly|absolutely|definitely|right away|at once|immediately|no problem|gladly"
        r"|understood|acknowledged|affirmative|agreed|indeed|roger(?: that)?|copy that|as you wish|go|done|yes|right"
        r"|fine|yep|yeah|noted|i will|i(?:['’]m| am) on it|working on it|let['’]s go"
        r"|as (?:requested|you asked)|you(?:['’]re| are) right"
    ),
    "English, praise": (
        r"great|perfect|good|cool|nice|excellent|wonderful|awesome|fantastic|lovely|sounds good|makes sense"
        r"|fair enough|(?:good|great) (?:point|idea|catch|question)|interesting"
    ),
    "English, politeness": (
        r"thanks|thank you|hello|hi(?: there)?|(?:i(?:['’]d| would) be )?(?:happy|glad) to help"
        r"|i can help(?: you)?(?: with (?:that|this))?|i can (?:certainly |definitely )?do (?:that|this|it)"
    ),
    "English, a pause": (
        r"(?:just )?(?:one|a) (?:moment|sec(?:ond)?)(?: please)?|now then|and now|again|back to (?:it|work)|hm{1,3}"
        r"|i see|i understand|ah|aha|oh"
    ),
    "German": (
        r"klar|gerne?|ja(?:,? gerne?)?|(?:sehr )?gut|natürlich|super|prima|alles klar|verstanden|sofort|mal sehen"
        r"|los geht['’]s|(?:einen )?moment(?: bitte)?"
    ),
    "Dutch, Swedish": r"oké|goed|begrepen|even kijken|okej|bra|förstått",
    "French": (
        r"d['’]accord|oui|(?:très )?bien|bien sûr|parfait|compris|c['’]est (?:compris|parti)|entendu|voyons(?: voir)?"
        r"|un instant"
    ),
    "Spanish": (r"claro(?: que sí)?|sí|de acuerdo|por supuesto|vale|bueno|muy bien|perfecto|entendido|un momento"),
    "Portuguese": r"sim|tudo bem|beleza|perfeito|entendi|um momento",
    "Italian": r"certo|va bene|sì|(?:molto )?bene|perfetto|subito|capito|un attimo",
    "Russian": (r"хорошо|конечно|понял[аи]?|понятно|ладно|да|ок|окей|отлично|сейчас|секунду|минутку|делаю"),
    "Polish, Czech, Turkish": r"dobrze|jasne|oczywiście|dobře|jasně|tamam|hemen|elbette",
    "Chinese": (
        r"好的?|嗯|行|可以|当然|是的|明白了?|了解|收到|没问题|(?:请)?稍[等候]|我来|我看(?:看|一下)|看一下|先看看|[开開]始"
        r"|接下[来來]|下一步|[继繼][续續]"
    ),
    "Japanese": r"はい|了解(?:です|しました)?|承知しました|わかりました|少々お待ちください|(?:それ)?では",
    "Korean": r"네|예|좋아요|알겠습니다|잠시만요",
    "Arabic, Hindi, Vietnamese, Indonesian": r"نعم|حسن[اً]{1,2}|ठीक है|बिल्कुल|हाँ|vâng|được rồi|baik|oke",
}
AGREED = "|".join(_WORDS.values())
HESITATION = (
    r"(?:(?:ok(?:ay)?,? )?so|well)(?!\W{0,3}(?:\.\.|…))|mm{1,3}|let me think|thinking|processing|please wait|strange"
    r"|odd|weird|curious"
)
"""Words that say nothing either, but behind an announcement they may take it back."""
