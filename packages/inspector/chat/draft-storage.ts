import { readStorage, writeStorage } from '../state.ts'
import type { Draft } from './draft.ts'
import { emptyDraft } from './draft.ts'

const key = 'millrace.drafts'

const drafts: Record<string, Draft> = JSON.parse(readStorage(key, 'sessionStorage') ?? '{}')

export function loadDraft(thread: string): Draft {
  return drafts[thread] ?? emptyDraft
}

export function saveDraft(thread: string, draft: Draft): void {
  drafts[thread] = draft
}

// Saved when the page is hidden, not on every key press, since images are large. A phone may kill
// a hidden page.
addEventListener('visibilitychange', () => writeStorage(key, JSON.stringify(drafts), 'sessionStorage'))
