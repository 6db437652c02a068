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

/** Whether a sentence may end with an abbreviation. See `Language`. */
type Abbreviation = 'title' | 'counted' | 'either' | 'ender'

export interface LanguageRules {
  abbreviation(word: string): Abbreviation | undefined
  isStarter(word: string): boolean
  /**
   * Returns a test whether a word makes the number before it an ordinal. `before` is the word
   * before the number. If not `whole`, the test is whether it may become such a word.
   */
  ordinals(before: string): (word: string, whole: boolean) => boolean
}

/**
 * Surname particles (`Ursula K. Le Guin`): they start a sentence only in the languages they come
 * from.
 */
const particles = new Set(
  words("La Le Les De Del Da Di Do Dos El Al Von Van Den Der Des Du D' L' Lo Los Las Um A O I E U Y"),
)

/**
 * Abbreviations that are words or parts of words in other languages: used only if the language is
 * known.
 */
const ambiguousAbbreviations = new Set(
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

const allAbbreviations = new Map<string, Abbreviation>()
const allStarters = new Set<string>()
const allOrdinals = new Set<string>()
const allBeforeOrdinals = new Set<string>()
// English last, so that it wins where languages disagree about a word.
for (const language of languages.toReversed()) {
  for (const [word, kind] of entriesOf(language)) {
    if (language === english || !ambiguousAbbreviations.has(word)) allAbbreviations.set(word, kind)
  }
  for (const word of language.starters)
    if (language === english || !particles.has(word)) allStarters.add(word)
  for (const word of language.ordinals ?? []) allOrdinals.add(word)
  for (const word of language.beforeOrdinals ?? []) allBeforeOrdinals.add(word)
}

const ordinalPrefixes = new Set(
  [...allOrdinals].flatMap((word) => Array.from(word, (_, at) => word.slice(0, at + 1))),
)

const lowered = (word: string) => word.charAt(0).toLowerCase() + word.slice(1)

/** `J'ai` starts with `J'`, `He'll` with `He`. */
function isIn(set: ReadonlySet<string>, word: string): boolean {
  const cut = word.indexOf("'")
  return set.has(word) || (cut > 0 && (set.has(word.slice(0, cut)) || set.has(word.slice(0, cut + 1))))
}

function rulesOf(language: Language | undefined): LanguageRules {
  const abbreviations = new Map(allAbbreviations)
  const starters = language ? new Set(language.starters) : allStarters
  for (const [word, kind] of language ? entriesOf(language) : []) abbreviations.set(word, kind)
  for (const word of language?.own ?? []) abbreviations.set(word, 'title')
  return {
    abbreviation: (word) => abbreviations.get(word) ?? abbreviations.get(lowered(word)),
    isStarter: (word) => isIn(starters, word) || isIn(allStarters, word),
    ordinals(before) {
      const anyWord = allBeforeOrdinals.has(before) || language === turkish
      return (word, whole) => {
        if (anyWord) return !whole || !allStarters.has(word)
        return whole ? allOrdinals.has(word) : ordinalPrefixes.has(word)
      }
    },
  }
}

const rulesByLanguage = new Map(languages.map((language) => [language.code, rulesOf(language)]))
const defaultRules = rulesOf(undefined)

/** The rules of a language by its code; those of all languages if it is unknown. */
export function languageRules(code: string | undefined): LanguageRules {
  return rulesByLanguage.get(code ?? '-') ?? defaultRules
}

/** The languages that a word indicates. */
export const languagesByWord: ReadonlyMap<string, readonly string[]> = languages.reduce(
  (found, { code, common }) => {
    for (const word of common) found.set(word, [...(found.get(word) ?? []), code])
    return found
  },
  new Map<string, string[]>(),
)
