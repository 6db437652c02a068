import type { Entry } from 'millrace/client'
import type { CallPhase } from './call-phase.ts'
import { phaseWords } from './call-phase.ts'
import { outcomeWords } from './outcome.ts'

type Event = Entry['event']

/** Longer answers are read where they stand. */
const mostChars = 600

/**
 * What is told to somebody who listens instead of looking: whole parts, when they are closed, never single words. Give it each
 * event once, in order; it remembers only the words that are being said.
 */
export function announcer(): (event: Event) => string {
  let words = ''
  return (event) => {
    if (event.type === 'text') words += event.text
    if (event.type === 'round-retract') words = ''
    const sentence = sentenceOf(event)
    if (sentence === undefined) return ''
    const before = shortened(spoken(words))
    words = ''
    return `${before} ${sentence}`.trim()
  }
}

/** What is told of an event after the words before it; undefined if those go on. */
function sentenceOf(event: Event): string | undefined {
  switch (event.type) {
    case 'part-end':
    case 'reasoning':
    case 'round-end':
    case 'tool-input-start':
    case 'provider-tool':
      return ''
    case 'round-retract':
      return 'That is taken back.'
    case 'tool-start':
      return toolIs('running', event)
    case 'tool-result':
      return event.isError ? toolIs(event.status, event) : undefined
    case 'approval-request':
      return toolIs('person', event)
    case 'run-end': {
      const { outcome, error } = event
      // Then it was told what it waits for.
      if (outcome === 'suspended') return ''
      return `${outcomeWords(outcome)}${error ? `: ${error.message}` : '.'}`
    }
  }
  return undefined
}

function toolIs(phase: CallPhase, { name }: { readonly name: string }): string {
  return `Tool ${name}: ${phaseWords(phase)}.`
}

/** Without the marks of Markdown, which nobody wants to hear. */
function spoken(text: string): string {
  return text
    .replace(/\]\([^()\s]*\)/g, '')
    .replace(/^ *(?:[-+*]|#+|>|```\S*) ?/gm, '')
    .replace(/[*`[\]|]+/g, '')
    .trim()
}

/** Cut behind a sentence, if there is one. */
function shortened(text: string): string {
  if (text.length <= mostChars) return text
  const cut = text.slice(0, mostChars)
  return `${/.*[.!?\n](?=\s)/s.exec(cut)?.[0] ?? cut} … The answer goes on.`
}
