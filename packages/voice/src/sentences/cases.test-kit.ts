import { english } from './cases-english.test-kit.ts'
import { reviewedEnglish } from './cases-english-reviewed.test-kit.ts'
import { languages } from './cases-languages.test-kit.ts'
import { markdown } from './cases-markdown.test-kit.ts'
import { reviewed } from './cases-reviewed.test-kit.ts'

/** A language, a text, and its sentences without the space around them. */
export type Case = readonly [language: string, text: string, sentences: readonly string[]]

function toCase(language: string, marked: string): Case {
  const parts = marked.split('¦')
  return [language, parts.join(''), parts.map((part) => part.trim()).filter(Boolean)]
}

/** Texts whose sentences people have marked. */
export const cases: readonly Case[] = [
  ...[...english, ...reviewedEnglish, ...markdown].map((marked) => toCase('en', marked)),
  ...[...Object.entries(languages), ...Object.entries(reviewed)].flatMap(([language, texts]) =>
    texts.map((marked) => toCase(language, marked)),
  ),
]
