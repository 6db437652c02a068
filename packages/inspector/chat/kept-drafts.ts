import { keep, kept } from '../state.ts'
import type { Draft } from './draft.ts'
import { emptyDraft } from './draft.ts'

const key = 'millrace.drafts'

const drafts: Record<string, Draft> = JSON.parse(kept(key, 'sessionStorage') ?? '{}')

export function draftOf(thread: string): Draft {
  return drafts[thread] ?? emptyDraft
}

export function keepDraft(thread: string, draft: Draft): void {
  drafts[thread] = draft
}

// Images are large, so nothing is written at each key, but when the page is left or hidden: a phone may end one that is.
addEventListener('visibilitychange', () => keep(key, JSON.stringify(drafts), 'sessionStorage'))
