import { english } from './cases-english.test-kit.ts'
import { judgedEnglish } from './cases-english-judged.test-kit.ts'
import { judged } from './cases-judged.test-kit.ts'
import { languages } from './cases-languages.test-kit.ts'
import { markdown } from './cases-markdown.test-kit.ts'

/** A language, a text, and its sentences without the space around them. */
export type Case = readonly [language: string, text: string, sentences: readonly string[]]

function toCase(language: string, marked: string): Case {
  const parts = marked.split('¦')
  return [language, parts.join(''), parts.map((part) => part.trim()).filter(Boolean)]
}

/** Texts whose sentences people have marked. */
export const cases: readonly Case[] = [
  ...[...english, ...judgedEnglish, ...markdown].map((marked) => toCase('en', marked)),
  ...[...Object.entries(languages), ...Object.entries(judged)].flatMap(([language, texts]) =>
    texts.map((marked) => toCase(language, marked)),
  ),
]
