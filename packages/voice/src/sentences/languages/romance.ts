import type { Language } from './language.ts'
import { words } from './language.ts'

export const french: Language = {
  code: 'fr',
  titles: words(`
    M MM Mme Mmes Mlle Mlles Me Mgr Pr p.ex c.-à-d c.à.d env cf ex éd hab apr J.-C dir Éts
  `),
  counted: words('art chap fig n num p pp par réf t tél vol no Nos Chap Art Fig Tél ann'),
  either: words(
    'av av.J.-C apr.J.-C bd boul St Ste janv févr avr juil sept oct nov déc Cie Sté S.A S.A.R.L adj bull',
  ),
  enders: words('etc'),
  starters: words(`
    Il Elle Ils Elles On Nous Vous Je J' Tu Le La Les L' Un Une Des Ce C' Cela Ça Cet Cette Ces Mais Et Ou Donc Or Puis Ensuite Alors
    Après Avant Quand Lorsque Si Comme Dans En À Au Aux Pour Par Avec Sans Sur Sous Chez Qui Que Qu' Quoi Quel Quelle Où Comment Pourquoi
    Combien Est Mon Ma Mes Ton Ta Tes Son Sa Ses Notre Nos Votre Vos Leur Leurs Tout Tous Toute Toutes Oui Non Merci Aujourd'hui Demain
    Hier Voici Voilà N' D' S' M' T' Cependant Pourtant Enfin Ainsi Aussi Plus Plusieurs Chaque Certains Depuis Pendant Toutefois Néanmoins
  `),
  common: words(
    'le la les des une est et pas que qui dans pour vous nous je ce il elle avec sur au du ne sont mais être',
  ),
}

export const spanish: Language = {
  code: 'es',
  titles: words(`
    Sr Sra Srta Sres Sras Dr Dra Drs D Dña Da Lic Ing Arq Prof Profa Gral Tte Cnel Cap Mons Fr Hno Sta Sto p.ej Excmo Excma
    Ilmo Ilma Rvdo Fdo aprox EE FF RR JJ CC sr sra srta sres dr dra
  `),
  counted: words('pág págs p pp núm nro cap art fig vol tel teléf tfno ap párr'),
  either: words(
    'Ud Uds Vd Vds S.A S.L S.R.L Cía Av Avda Avd C Pza Depto dpto a.C d.C Bs.As FF.AA RR.HH ene feb mzo abr ago dic',
  ),
  enders: words('etc EE.UU EEUU'),
  starters: words(`
    Él Ella Ellos Ellas Yo Tú Usted Ustedes Nosotros Nosotras Vosotros El La Los Las Lo Un Una Unos Unas Este Esta Esto Estos Estas Ese
    Esa Eso Esos Esas Aquel Aquella Pero Y E O U Luego Después Entonces Cuando Si Como En Por Para Con Sin De Del Al A Desde Hasta Sobre
    Qué Quién Cómo Dónde Cuándo Cuál Cuánto Mi Mis Tu Tus Su Sus Nuestro Nuestra No Sí Hoy Ayer Mañana También Ahora Además Todo Todos
    Todas Muchos Algunos Cada Es Era Hay Tiene Fue Está Están Son Gracias Aquí Allí Sin Ya Así Aunque Porque Mientras
  `),
  common: words(
    'el los las una es y que en por para con no se del al lo su como más pero está qué son fue muy',
  ),
}

export const italian: Language = {
  code: 'it',
  titles: words(`
    Sig Sig.ra Sigg Sig.na Dott Dott.ssa Dr.ssa Prof Prof.ssa Avv Ing Geom Rag Arch On Mons Egr Gent Gent.ma Spett Cav Comm p.es
    es ad.es cfr ca sig sig.ra sig.na dott dott.ssa dr.ssa prof prof.ssa avv ing dr
  `),
  counted: words('pag pagg p n nn art artt cap fig vol tel num'),
  either: words('S.p.A S.r.l a.C d.C c.a gen febbr mar apr ago sett ott nov dic v.le p.zza'),
  enders: words('ecc etc'),
  starters: words(`
    Lui Lei Loro Io Noi Voi Egli Ella Essi Il Lo La I Gli Le L' Un Uno Una Questo Questa Questi Queste Quello Quella Quelli Ma E Ed O
    Poi Allora Quindi Dopo Prima Quando Se Come In Nel Nella Con Senza Per Da Di Del Della A Al Alla Ai Su Sul Tra Fra Che Chi Cosa Dove
    Perché Quale Quanto Mio Mia Suo Sua Nostro Nostra Non No Sì Oggi Ieri Domani Anche Ora Adesso Inoltre Tutto Tutti Ogni È Era Sono Ha
    Hanno C'è Ci Si Grazie Ecco Così Però Tuttavia Infine Alcuni Molti
  `),
  common: words('il che di è non un una per con sono della nel gli ma anche alla come più questo ha'),
}

export const portuguese: Language = {
  code: 'pt',
  titles: words(
    'Sr Sra Srta Srs Sras Dr Dra Drs Prof Profa Eng Exmo Exma Ilmo Ilma Gal Gen Cel Pe Fr D Dom p.ex aprox Me sr sra srta dr dra',
  ),
  counted: words('pág págs p pp n núm nº cap art fig vol tel fl'),
  either: words('Av R Ltda Cia S.A E.U.A EUA a.C d.C jan fev mar abr mai jun jul ago set out nov dez Lda Jr'),
  enders: words('etc'),
  starters: words(`
    Ele Ela Eles Elas Eu Tu Você Vocês Nós Vós O A Os As Um Uma Uns Umas Este Esta Isto Esse Essa Isso Aquele Aquela Mas E Ou Depois
    Então Logo Quando Se Como Em No Na Nos Nas Por Para Com Sem De Do Da Dos Das Ao À Desde Até Sobre Que Quem Qual Onde Quanto Porque
    Meu Minha Seu Sua Nosso Nossa Não Sim Hoje Ontem Amanhã Também Agora Além Tudo Todos Todas Muitos Alguns Cada É Era Há Tem Foi Está
    São Obrigado Aqui Ali Assim Já
  `),
  common: words(
    'o os um uma é não que de em para com por do da no na se mais como você são está foi muito ele ela',
  ),
}
