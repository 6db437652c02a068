import type { CallView, Change } from 'millrace/view'
import { budgetQuestion, limitText } from 'millrace/view'
import { openRequest, stateLabel } from './call-state.ts'
import { isStoppedByUser } from './outcome.ts'
import { outcomeLabels } from './strings.ts'
import { fullText } from './text-tail.ts'

/** Longer answers are cut: the user can read them in the chat. */
const maxChars = 600

/** What a screen reader announces for a change: complete parts, never single words. */
export function announcementOf({ closed, round, call, state, run, rewound }: Change): string {
  if (rewound) return 'The conversation was rewound.'
  if (round?.retracted) return 'The last answer was retracted.'
  const text = closed?.kind === 'text' ? truncate(plainText(fullText(closed.text))) : ''
  const about = call && state ? callSentence(call) : run?.outcome ? endSentence(run) : ''
  return `${text} ${about}`.trim()
}

/** Calls are announced when they start, ask or fail. Tools that the provider runs are not. */
function callSentence(call: CallView): string {
  const { name, state, provider, result } = call
  const request = openRequest(call)?.request
  if (request?.budget) return budgetQuestion(request.budget, request.input)
  if (provider || !(state === 'running' || state === 'asking' || result?.isError)) return ''
  return `Tool ${request?.name ?? name}: ${stateLabel(call)}.`
}

function endSentence({ outcome, error, limit }: NonNullable<Change['run']>): string {
  // What a suspended run waits for was already announced.
  if (!outcome || outcome === 'suspended') return ''
  if (limit) return limitText(limit)
  if (isStoppedByUser(error)) return 'You stopped this.'
  return `${outcomeLabels[outcome]}${error ? `: ${error.message}` : '.'}`
}

/** Without Markdown syntax, which is noise when read aloud. */
function plainText(text: string): string {
  return text
    .replace(/\]\([^()\s]*\)/g, '')
    .replace(/^ *(?:[-+*]|#+|>|```\S*) ?/gm, '')
    .replace(/[*`[\]|]+/g, '')
    .trim()
}

/** Cut after a sentence if possible. */
function truncate(text: string): string {
  if (text.length <= maxChars) return text
  const cut = text.slice(0, maxChars)
  return `${/.*[.!?\n](?=\s)/s.exec(cut)?.[0] ?? cut} … The answer continues.`
}
