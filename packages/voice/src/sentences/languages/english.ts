import type { Language } from './language.ts'
import { words } from './language.ts'

export const english: Language = {
  code: 'en',
  titles: words(`
    Mr Mrs Ms Mx Messrs Dr Drs Prof Gen Sen Rep Gov Capt Cpt Cmdr Lt Col Sgt Cpl Maj Adm Rev Hon Pres Supt Insp Amb Msgr
    Mt Ft vs e.g i.e eg ie cf viz approx Lt.Col Brig Pvt Atty Ald Esp esp Maj.Gen Lt.Gen P.S P.P.S
  `),
  counted: words(`
    no nos No Nos p pp Fig Figs fig figs Vol vol Vols Ch ch Chap chap Sec sec Art art Eq eq Ex Par par Para Pt pt Tab Ref
    ver Ver v Rev ext Ext Rm Apt Ste tel Tel Bldg Col
  `),
  either: words(`
    Inc Ltd Co Corp Bros LLC Cos Jr Sr Esq St Ave Blvd Rd Ln Pl Sq Hwy Pkwy Ct Ph.D PhD Ed.D M.D D.D.S B.A M.A B.S M.S B.Sc M.Sc
    M.B.A LL.B LL.M J.D Dept dept Univ Assn Assoc Natl Intl Govt govt Est est Jan Feb Mar Apr Jun Jul Aug Sep Sept Oct Nov Dec
    Mon Tue Tues Wed Thu Thur Thurs Fri Sat Sun al et.al ed eds Ed Eds trans ft lb lbs oz hr hrs min mins mph
    Calif Conn Fla Mass Mich Minn Penn Tenn Tex Wash Ariz Ark Colo Ill Ind Ky La Md Miss Mo Neb Nev Okla Ore Va Vt Wis
    co incl misc max temp avg qty mr mrs ms dr prof
  `),
  enders: words('etc a.m p.m A.M P.M am pm AM PM B.C A.D B.C.E C.E'),
  starters: words(`
    I I'm I've I'll I'd He He's She She's It It's Its We We're We've We'll They They're They've You You're You've You'll The A An This
    That That's These Those There There's Here Here's My His Her Our Their Your But And Or Nor Yet So Then Now However Also After
    Before When While If Unless In On At For From With Without As By To Since Because Although Though What What's Why How Where Who
    Who's Which Whose Do Does Did Don't Didn't Is Isn't Are Aren't Was Were Can Can't Could Would Should Might Must Have Has Had Let
    Let's Please Yes No Not Maybe Perhaps Some Many Most All Each Every Both Few Several One Another Other Others Everyone Everybody
    Everything Nobody Someone Somebody Something Nothing Anyone Later Next Finally Today Tomorrow Yesterday Meanwhile Afterwards
    Instead Once Until Such Even Just Only Never Always Sometimes Still Well Oh Ok Okay Thanks Thank Sure Therefore Moreover Furthermore
    Additionally Otherwise Nevertheless Nonetheless Thus Hence Unfortunately Fortunately Remember Note
  `),
  ordinals: [],
  common: words(
    'the and is are was of to that it with for you this have not be from they i am he she my in on at we',
  ),
}
