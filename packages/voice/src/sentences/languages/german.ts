import type { Language } from './language.ts'
import { words } from './language.ts'

export const german: Language = {
  code: 'de',
  titles: words(`
    Hr Hrn Fr Frl Dipl Ing Dipl.Ing Mag Priv.Doz z.B z.Bsp z.T z.Zt z.Hd z.H d.h d.i u.a u.U u.E i.d.R i.Allg i.A i.V i.S.v
    bzw bspw beispielsw ca evtl ggf ggfs inkl exkl einschl zzgl abzgl vgl sog sogen insb insbes bes gem lt mind höchst geb gest
    verh gez o.g s.o s.u v.a m.E m.W u.z uzw versch allg eigtl urspr ehem entspr zw betr Bzgl bzgl Präs Dr.med Dr.phil Dr.jur Dr.rer rer.nat Dr.rer.nat Dr.h.c med.dent
  `),
  counted: words('Nr Nrn Abb Abs Anm Anl Art Aufl Bd Bde Bl Kap Lfg Rn Rz S Tab Tel Ziff Zi Hausnr Stk'),
  either: words(`
    Str Pl Jh Jhd Jhdt Mio Mrd Tsd v.Chr n.Chr Chr Min Std Sek Jan Jän Feb Febr Mär Apr Jun Jul Aug Sep Sept Okt Nov Dez
    St Hrsg Verl Abt Co Fa Ges GmbH.Co a.D a.M a.d Hbf Bhf gegr o.O o.J
  `),
  enders: words('usw usf etc u.v.m u.v.a.m u.Ä u.ä o.Ä o.ä dgl u.dgl u.a.m'),
  own: words('Mo Di Mi Do Sa So'),
  starters: words(`
    Er Sie Es Wir Ich Ihr Du Man Der Die Das Dem Den Des Ein Eine Einen Einem Einer Dann Danach Aber Und Oder Doch Denn Wenn Als Da
    Dabei Dafür Daher Damit Darum Deshalb Deswegen Dort Hier Heute Morgen Gestern Jetzt Nun Was Wer Wie Wo Warum Wann Weshalb Welche
    Welcher Welches Im In Am An Auf Aus Bei Beim Bis Durch Mit Nach Nachher Ohne Seit Über Um Unter Von Vom Vor Während Weil Zu Zum
    Zur Für Gegen So Auch Nur Noch Schon Kein Keine Mein Meine Dein Deine Sein Seine Unser Unsere Ihre Diese Dieser Dieses Jeder Jede
    Jedes Alle Alles Viele Einige Manche Später Anschließend Zuerst Zuletzt Schließlich Außerdem Allerdings Trotzdem Jedoch Bitte Ja
    Nein Nicht Ist Sind War Waren Hat Haben Kann Können Soll Muss Möchten Willst Wollen Können Vielleicht Danke Leider Natürlich
  `),
  ordinals: words(`
    Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember
    Jan Feb Apr Aug Sept Okt Nov Dez Jahrhundert Jahrhunderts Jahrhunderte Jh Jahrtausend Weltkrieg Weltkriegs Weltkrieges Bundesliga
    Stock Etage Klasse Platz Tag Tages Woche Monat Quartal Kapitel Auflage Geburtstag Mal Runde Lebensjahr Lebensjahrs Liga Semester
    Stunde Minute Spieltag Akt Satz Teil Band Preis Advent Jahrestag Bezirk Juli
  `),
  beforeOrdinals: words(`
    am im der die das dem den des vom zum zur beim bis ab seit jeden jeder jede jedes ein eine einen einem einer sein seine seinen
    seinem seiner ihr ihre ihren ihrem ihrer mein meine meinen meinem meiner unser unsere unseren unserem unserer dieser diesem diesen
    und Am Im Der Die Das Dem Den Des Zum Zur Vom Beim Ab Seit Bis Dieser Unser Mein Sein
  `),
  common: words(
    'der die das und ist nicht ein eine ich sie wir mit auf für von dem den zu im sich auch es war sind haben hat er am an aus bei nach wie noch nur wenn kann des einen einem uns zum zur wird aber oder um bis',
  ),
}
