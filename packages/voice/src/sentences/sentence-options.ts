import type { OptionTable } from 'millrace/internal'
import { checkOptions, invalidInput, oneOf, wholeNumber } from 'millrace/internal'
import type { SentenceOptions } from './sentence.ts'

const op = 'sentences'

const table: OptionTable<SentenceOptions> = {
  language: (value) =>
    !(typeof value === 'string' && /^[a-z]{2,3}(-[a-z\d]{1,8})*$/i.test(value)) &&
    "must be a language tag such as 'en' or 'pt-BR'",
  minChars: wholeNumber(0),
  firstMinChars: wholeNumber(0),
  maxChars: wholeNumber(20),
  code: oneOf('skip', 'mention', 'read'),
  tables: oneOf('skip', 'read'),
  markdown: oneOf('skip', 'read'),
  links: oneOf('skip', 'read'),
  emoji: oneOf('skip', 'read'),
}

export type SentenceSettings = ReturnType<typeof readSentenceOptions>

/** Applies defaults. Throws `invalid_input` with the name of the invalid option. */
export function readSentenceOptions(options: SentenceOptions) {
  checkOptions(options, table, { op, what: 'the option' })
  const { language, minChars = 0, firstMinChars = minChars, maxChars = 400 } = options
  const { code = 'skip', tables = 'skip', markdown = 'skip', links = 'skip', emoji = 'skip' } = options
  const largestMin = Math.max(minChars, firstMinChars)
  if (largestMin > maxChars) {
    const which = minChars > maxChars ? 'minChars' : 'firstMinChars'
    throw invalidInput(
      op,
      `the option '${which}' must be at most maxChars, which is ${maxChars}, not ${largestMin}`,
    )
  }
  return {
    language: language?.toLowerCase().split('-')[0],
    ...{ minChars, firstMinChars, maxChars },
    ...{ code, tables, markdown, links, emoji },
  }
}
