import type { CallView, Change } from 'millrace/view'
import { stateWords } from './call-phase.ts'
import { outcomeWords } from './outcome.ts'
import { whole } from './text-tail.ts'

/** Longer answers are read where they stand. */
const mostChars = 600

/** What a screen reader says about a change: whole parts, when they are closed, never single words. */
export function announcementOf({ closed, round, call, state, run }: Change): string {
  if (round?.retracted) return 'That is taken back.'
  const words = closed?.kind === 'text' ? shortened(spoken(whole(closed.text))) : ''
  const about = call && state ? callSentence(call) : run?.outcome ? endSentence(run) : ''
  return `${words} ${about}`.trim()
}

/** It is worth a word that a call starts, asks, or goes wrong. What a provider runs is part of the answer. */
function callSentence({ name, state, approvals, provider, result }: CallView): string {
  if (provider || !(state === 'running' || state === 'asking' || result?.isError)) return ''
  const asked = state === 'asking' ? approvals.at(-1)?.request.name : undefined
  return `Tool ${asked ?? name}: ${stateWords[state]}.`
}

function endSentence({ outcome, error }: NonNullable<Change['run']>): string {
  // What a suspended run waits for has been announced.
  if (!outcome || outcome === 'suspended') return ''
  return `${outcomeWords[outcome]}${error ? `: ${error.message}` : '.'}`
}

/** Without the marks of Markdown, which are noise when read out. */
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
