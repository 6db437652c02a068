import type { ApprovalView } from 'millrace/view'
import { pretty } from '../format.ts'
import { visible } from '../json/visible.ts'
import { inputProblem } from './json-text.ts'
import type { rememberLabels } from './strings.ts'

type Request = ApprovalView['request']

/** What a user has entered in the form of a request. */
export interface ApprovalDraft {
  /** The arguments as JSON. */
  readonly text: string
  readonly reason: string
  readonly remember: keyof typeof rememberLabels
  /** Which parts of the form are open. */
  readonly isEditing: boolean
  readonly hasReason: boolean
}

/** Unsent input, since a form that is scrolled out of view is unmounted. */
const drafts = new WeakMap<Request, ApprovalDraft>()

/** Invisible characters are escaped, which is still the same JSON. */
export function originalText({ input }: Request): string {
  return visible(pretty(input))
}

export function draftOf(request: Request): ApprovalDraft {
  return (
    drafts.get(request) ?? {
      text: originalText(request),
      reason: '',
      remember: 'once',
      isEditing: false,
      hasReason: false,
    }
  )
}

export function keepDraft(request: Request, draft: ApprovalDraft): void {
  drafts.set(request, draft)
}

/** The decision as the form says it. Throws if the arguments are invalid. */
export function answerOf(request: Request, approved: boolean) {
  const { text, reason, remember } = draftOf(request)
  const problem = approved && inputProblem(text)
  if (problem) throw new Error(problem)
  const why = reason.trim()
  return {
    approved,
    ...(approved && text !== originalText(request) && { input: JSON.parse(text) }),
    ...(why && { reason: why }),
    ...(approved && remember !== 'once' && { remember }),
  }
}
