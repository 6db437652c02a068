import type { Cut } from '../cut.ts'
import type { SentenceSettings } from '../sentence-options.ts'
import { readAloud } from './inline.ts'
import type { Spoken } from './words.ts'
import { words } from './words.ts'

/** One line in place of code. */
const mentions: Readonly<Record<string, string>> = {
  en: 'Here is a block of code.',
  de: 'Hier steht ein Stück Code.',
  fr: 'Voici un bloc de code.',
  es: 'Aquí hay un bloque de código.',
  it: 'Qui c’è un blocco di codice.',
  pt: 'Aqui há um bloco de código.',
  nl: 'Hier staat een stuk code.',
  pl: 'Tutaj jest fragment kodu.',
  ru: 'Здесь фрагмент кода.',
}

const delimiters = /^[\s|:+-]*$/

/** What is read aloud of a sentence, and where each character of that comes from. */
export function spoken(
  source: string,
  { form, ownLine, language = 'en' }: Cut,
  settings: SentenceSettings,
): Spoken {
  const end = source.length
  if (form === 'silent' || (form === 'row' && delimiters.test(source))) return { speech: '', origins: [end] }
  if (form === 'mention') {
    const speech = mentions[language] ?? mentions.en ?? ''
    return { speech, origins: [...Array<number>(speech.length).fill(0), end] }
  }
  const written = words(settings)
  if (form === 'line') {
    for (let at = 0; at < end; at++) {
      if (/\s/.test(source.charAt(at))) written.gap(at)
      else written.write(source.charAt(at), at)
    }
  } else readAloud(source, written, { ...settings, ownLine, cells: form === 'row' })
  return written.finish(end)
}
