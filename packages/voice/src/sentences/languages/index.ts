import { english } from './english.ts'
import { finnish, greek, hungarian, indonesian, romanian, turkish, uncased, vietnamese } from './further.ts'
import { german } from './german.ts'
import { danish, dutch, swedish } from './germanic.ts'
import type { Language } from './language.ts'
import { words } from './language.ts'
import { french, italian, portuguese, spanish } from './romance.ts'
import { czech, polish, russian, ukrainian } from './slavic.ts'

const languages: readonly Language[] = [
  english,
  ...[german, dutch, swedish, danish],
  ...[french, spanish, italian, portuguese, romanian],
  ...[polish, russian, ukrainian, czech],
  ...[turkish, hungarian, finnish, indonesian, vietnamese, greek],
  uncased,
]

/** Whether a sentence may end with an abbreviation: see `Language`. */
type Abbreviation = 'title' | 'counted' | 'either' | 'ender'

export interface Knowledge {
  abbreviation(word: string): Abbreviation | undefined
  isStarter(word: string): boolean
  /** Whether a word makes an ordinal of the number before it, `before` being the word before that; or may become one that does. */
  ordinals(before: string): (word: string, whole: boolean) => boolean
}

/** Particles of surnames (`Ursula K. Le Guin`): they begin no sentence unless the language is one that has them. */
const particles = new Set(
  words("La Le Les De Del Da Di Do Dos El Al Von Van Den Der Des Du D' L' Lo Los Las Um A O I E U Y"),
)

/** Abbreviations that are words in other languages, or parts of them: they count only if the language is known. */
const wordsElsewhere = new Set(
  words(`
    gem mind bes lt ex dir apr env hab Me On es Da Dom Arch Cap Comm Rag Cav ing ir max min por al pl os ok im ks ang pt gen doc
    sl id ill kb mm ns tri set out mar mai ago ott oct bull adj bd boul jan feb jun jul aug sep dec as in sn dk gr bm br cd em par num
    so pr sp st an co au u.a do vol sept nov abr dic ene u.s BS TS GS CN TP Org Op Gen Gal Pe Eng Est Pl Min Max Do R C Q P D S A O
    dr prof mr tel ve vs vb vd vv ww r w n p s v o t d
  `),
)

function entriesOf({ titles, counted, either, enders }: Language): [string, Abbreviation][] {
  const as = (list: readonly string[], kind: Abbreviation) =>
    list.map((word): [string, Abbreviation] => [word, kind])
  return [...as(enders, 'ender'), ...as(either, 'either'), ...as(counted, 'counted'), ...as(titles, 'title')]
}

const everyAbbreviation = new Map<string, Abbreviation>()
const everyStarter = new Set<string>()
const everyOrdinal = new Set<string>()
const everyBefore = new Set<string>()
// English last: where two languages say different things of a word, it is right more often.
for (const language of languages.toReversed()) {
  for (const [word, kind] of entriesOf(language)) {
    if (language === english || !wordsElsewhere.has(word)) everyAbbreviation.set(word, kind)
  }
  for (const word of language.starters)
    if (language === english || !particles.has(word)) everyStarter.add(word)
  for (const word of language.ordinals ?? []) everyOrdinal.add(word)
  for (const word of language.beforeOrdinals ?? []) everyBefore.add(word)
}

const beginnings = new Set(
  [...everyOrdinal].flatMap((word) => Array.from(word, (_, at) => word.slice(0, at + 1))),
)

const lowered = (word: string) => word.charAt(0).toLowerCase() + word.slice(1)

/** `J'ai` begins with `J'`, `He'll` with `He`. */
function isIn(set: ReadonlySet<string>, word: string): boolean {
  const cut = word.indexOf("'")
  return set.has(word) || (cut > 0 && (set.has(word.slice(0, cut)) || set.has(word.slice(0, cut + 1))))
}

function knowledgeOf(language: Language | undefined): Knowledge {
  const abbreviations = new Map(everyAbbreviation)
  const starters = language ? new Set(language.starters) : everyStarter
  for (const [word, kind] of language ? entriesOf(language) : []) abbreviations.set(word, kind)
  for (const word of language?.own ?? []) abbreviations.set(word, 'title')
  return {
    abbreviation: (word) => abbreviations.get(word) ?? abbreviations.get(lowered(word)),
    isStarter: (word) => isIn(starters, word) || isIn(everyStarter, word),
    ordinals(before) {
      const anyWord = everyBefore.has(before) || language === turkish
      return (word, whole) => {
        if (anyWord) return !whole || !everyStarter.has(word)
        return whole ? everyOrdinal.has(word) : beginnings.has(word)
      }
    },
  }
}

const known = new Map(languages.map((language) => [language.code, knowledgeOf(language)]))
const unknown = knowledgeOf(undefined)

/** Of a language by its code; of all together if it is not known. */
export function knowledge(code: string | undefined): Knowledge {
  return known.get(code ?? '-') ?? unknown
}

/** The languages that a word speaks for. */
export const languagesByWord: ReadonlyMap<string, readonly string[]> = languages.reduce(
  (found, { code, common }) => {
    for (const word of common) found.set(word, [...(found.get(word) ?? []), code])
    return found
  },
  new Map<string, string[]>(),
)
