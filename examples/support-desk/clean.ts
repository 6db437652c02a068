import { stripVTControlCharacters } from 'node:util'

// Everything a terminal could take for an order, and the marks that make text run backwards.
const orders = /(?![\n\t])[\p{Cc}\p{Bidi_Control}]/gu

// An escape sequence that is not over yet: more of it comes with the next delta.
const unfinished = /(?![\n\t])\p{Cc}(?:\[[0-?]*|\][^\p{Cc}]{0,200})?$/u

/** Words from a model or a tool are not trusted with the terminal. */
function clean(text: string): string {
  return stripVTControlCharacters(text).replace(orders, '').replaceAll('\t', ' ')
}

export function cleanLine(text: string): string {
  return clean(text.replace(/\s+/g, ' '))
}

/** Cleans text that comes in deltas, wherever they are cut. */
export function deltaCleaner(): (delta: string) => string {
  let held = ''
  return (delta) => {
    const text = held + delta
    held = unfinished.exec(text)?.[0] ?? ''
    return clean(text.slice(0, text.length - held.length))
  }
}
