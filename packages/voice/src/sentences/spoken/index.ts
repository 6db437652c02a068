import type { Cut } from '../cut.ts'
import type { SentenceSettings } from '../sentence-options.ts'
import { readAloud } from './inline.ts'
import type { Spoken } from './speech-writer.ts'
import { speechWriter } from './speech-writer.ts'

/** Spoken in place of code. */
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

const tableRule = /^[\s|:+-]*$/

/** What is read aloud of a sentence, with the origin of each character. */
export function spoken(
  source: string,
  { form, startsLine, language = 'en' }: Cut,
  settings: SentenceSettings,
): Spoken {
  const end = source.length
  if (form === 'silent' || (form === 'row' && tableRule.test(source))) return { speech: '', origins: [end] }
  if (form === 'mention') {
    const speech = mentions[language] ?? mentions.en ?? ''
    return { speech, origins: [...Array<number>(speech.length).fill(0), end] }
  }
  const writer = speechWriter(settings)
  if (form === 'line') {
    for (let at = 0; at < end; at++) {
      if (/\s/.test(source.charAt(at))) writer.gap(at)
      else writer.write(source.charAt(at), at)
    }
  } else readAloud(source, writer, { ...settings, startsLine, cells: form === 'row' })
  return writer.finish(end)
}
