import { languagesByWord } from './languages/index.ts'

/** Guesses the language of a text from its words. Undefined while several are equally likely. */
export interface LanguageGuess {
  addWord(word: string): void
  readonly language: string | undefined
}

const byLetter: readonly [RegExp, string][] = [
  [/[ßäöü]/, 'de'],
  [/[ñ¿¡]/, 'es'],
  [/[ãõ]/, 'pt'],
  [/[èêëîïœûù]/, 'fr'],
  [/[ąćęłńśźż]/, 'pl'],
  [/[ğşı]/, 'tr'],
  [/[ěřů]/, 'cs'],
  [/[őű]/, 'hu'],
  [/[åø]/, 'da'],
  [/[іїєґ]/, 'uk'],
  [/[ыэъё]/, 'ru'],
]

const ascii = /^[a-z]*$/

export function languageGuess(fixed: string | undefined): LanguageGuess {
  const scores = new Map<string, number>()
  let [first, second] = [0, 0]
  let best: string | undefined
  const score = (language: string) => {
    const points = (scores.get(language) ?? 0) + 1
    scores.set(language, points)
    if (language === best) first = points
    else if (points > first) [second, first, best] = [first, points, language]
    else if (points > second) second = points
  }
  return {
    addWord(word) {
      if (fixed !== undefined || word.length > 16) return
      const known = word.toLowerCase()
      for (const language of languagesByWord.get(known) ?? []) score(language)
      if (ascii.test(known)) return
      for (const [letters, language] of byLetter) if (letters.test(known)) score(language)
    },
    get language() {
      return fixed ?? (first > second ? best : undefined)
    },
  }
}
