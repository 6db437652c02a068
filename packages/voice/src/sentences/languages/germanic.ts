import type { Language } from './language.ts'
import { words } from './language.ts'

export const dutch: Language = {
  code: 'nl',
  titles: words(`
    dhr Dhr mevr Mevr mw Mw mej drs Drs ir Ir ing mr prof dr bijv bv b.v d.w.z dwz o.a m.a.w t.a.v t.n.v i.p.v i.v.m m.b.t n.a.v
    t.o.v ca resp z.g zgn vgl excl incl aanw a.u.b
  `),
  counted: words('nr nrs blz p pp art hfst fig tel afb par vol'),
  either: words(
    'vnw bvnw bijvnw znw ww B.V N.V jl a.s v.Chr n.Chr jr sr jan feb mrt apr jun jul aug sept okt nov dec gebr',
  ),
  enders: words('enz etc e.d e.a e.v'),
  starters: words(`
    Hij Zij Ze Het Wij We Ik Jij Je U Jullie De Een Dit Dat Deze Die Maar En Of Dus Toen Dan Daarna Als Wanneer Omdat In Op Aan Bij Met
    Zonder Voor Na Van Naar Uit Over Om Wat Wie Waar Waarom Hoe Mijn Jouw Zijn Haar Ons Onze Hun Niet Nee Ja Vandaag Gisteren Morgen Nu Ook
    Er Hier Daar Is Was Heeft Kan Alle Alles Veel Elke Later Bedankt
  `),
  common: words('de het een en van niet dat is op te zijn met voor ik je hij maar aan ook er naar wij ze'),
}

export const swedish: Language = {
  code: 'sv',
  titles: words('t.ex bl.a d.v.s dvs s.k f.d fr.o.m t.o.m p.g.a ca jfr resp inkl exkl'),
  counted: words('nr kl s sid kap fig tel'),
  either: words('f.Kr e.Kr jan febr apr aug sept okt nov dec st'),
  enders: words('osv m.m m.fl etc'),
  starters: words(`
    Han Hon Det Den De Vi Jag Du Ni En Ett Men Och Eller Så Sedan Då När Om I På Med Utan För Från Vad Vem Var Varför Hur Min Din Sin Vår
    Inte Nej Ja Idag Igår Nu Också Där Här Är Har Kan Alla Allt Denna Detta Dessa
  `),
  common: words('och att det som är på för av inte med den jag han ett om så har till'),
}

export const danish: Language = {
  code: 'da',
  titles: words('f.eks bl.a dvs d.v.s ca hr fr jf evt inkl ekskl pga p.g.a vedr mht m.h.t'),
  counted: words('nr kl s sml kap fig tlf'),
  either: words('f.Kr e.Kr jan feb mar apr jun jul aug sep sept okt nov dec gl mio mia kr skt'),
  enders: words('osv mv m.v m.m mm etc'),
  starters: words(`
    Han Hun Det Den De Vi Jeg Du I En Et Men Og Eller Så Da Når Hvis På Med Uden For Fra Hvad Hvem Hvor Hvorfor Hvordan Min Din Sin Vores
    Ikke Nej Ja Nu Også Der Her Er Har Kan Alle Alt Denne Dette Disse
  `),
  common: words('og at det som er på for af ikke med den jeg han et om så har til de'),
}
