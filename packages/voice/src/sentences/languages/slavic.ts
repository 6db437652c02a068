import type { Language } from './language.ts'
import { words } from './language.ts'

export const polish: Language = {
  code: 'pl',
  titles: words(`
    np m.in tzn tj tzw prof inż mgr hab ks św Św gen płk kpt por al pl os ok pt zob por bałt ang niem franc łac im ww wg ul
  `),
  counted: words('nr str s godz art ust pkt rozdz rys tel tab poz'),
  either: words('r w n.e p.n.e gr tys mln mld min sek sp Sp z.o.o ub bm br cd'),
  enders: words('itd itp etc in zł'),
  starters: words(`
    On Ona Ono Oni One Ja Ty My Wy To Ten Ta Te Ci Ale I A Lub Albo Więc Potem Wtedy Gdy Kiedy Jeśli Jeżeli Jak Bo Ponieważ W We Na Z Ze
    Do Od Po Przed Przez Dla Bez O U Co Kto Gdzie Dlaczego Który Która Czy Mój Moja Jego Jej Ich Nasz Nie Tak Dziś Dzisiaj Wczoraj Jutro
    Teraz Też Także Tam Tutaj Tu Jest Są Był Była Było Wszyscy Wszystko Każdy Później Następnie Jednak Dziękuję Proszę
  `),
  common: words('się nie jest na to że do jak ale czy już tak był była dla przez po są'),
}

export const russian: Language = {
  code: 'ru',
  titles: words(`
    т.е т.к т.н т.о напр проф акад доц инж ул пр просп пер пл наб обл р-н тов г-н г-жа гр см ср св англ нем фр лат сокр
    н.п
  `),
  counted: words('стр с рис гл ст п пп табл № кв д корп тел т'),
  either: words('г гг в вв тыс млн млрд мин сек им н.э до.н.э куб.м кв.м чел ред изд экз'),
  enders: words('т.д т.п др пр и.т.д и.т.п и.др и.пр руб коп'),
  starters: words(`
    Он Она Оно Они Я Ты Мы Вы Это Этот Эта Эти Тот Та Те Но И А Или Да Потом Затем Тогда Когда Если Как Потому Поэтому В Во На С Со К Ко
    Из От До По Под При Про Для Без За О Об У Что Кто Где Куда Почему Зачем Какой Какая Сколько Мой Моя Его Её Их Наш Наша Не Нет Сегодня
    Вчера Завтра Сейчас Теперь Также Тоже Там Здесь Тут Есть Был Была Было Были Все Всё Каждый Позже Однако Спасибо После Перед
  `),
  common: words('и в не на что он с как это по но из она они мы'),
}

export const ukrainian: Language = {
  code: 'uk',
  titles: words('т.зв проф акад доц ім вул просп пров пл обл напр див'),
  counted: words('стор рис розд ст табл № кв буд тел'),
  either: words('р рр ст тис млн млрд хв с год н.е'),
  enders: words('т.д т.п ін та.ін і.т.д грн коп'),
  starters: words(
    'Він Вона Воно Вони Я Ти Ми Ви Це Цей Ця Ці Але І Й Та Або Потім Тоді Коли Якщо Як Тому У В На З До Від По Що Хто Де Чому Не Ні Так',
  ),
  common: words('і та що не на це він вона вони є як але або'),
}

export const czech: Language = {
  code: 'cs',
  titles: words('např tzn tj tzv Ing Mgr Bc MUDr JUDr RNDr PhDr doc prof p pí sl sv resp popř příp ul nám'),
  counted: words('č čís str s kap obr tab tel odst'),
  either: words('r n.l př.n.l tis mil mld Kč min hod sek a.s s.r.o'),
  enders: words('atd apod aj etc'),
  starters: words(`
    On Ona Ono Oni Já Ty My Vy To Ten Ta Ti Ale A I Nebo Pak Potom Když Pokud Jestli Jak Protože V Ve Na Z Ze Do Od Po Před Pro Bez O U Co
    Kdo Kde Proč Který Která Můj Moje Jeho Její Náš Ne Ano Dnes Včera Zítra Teď Také Tam Tady Je Jsou Byl Byla Bylo Všichni Všechno Každý
  `),
  common: words('se je na to že do jak ale aby byl který pro ve jsem jsou'),
}
