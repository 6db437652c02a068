import type { NewThread, ThreadLabel } from '../log/index.ts'
import type { Entry } from '../protocol/index.ts'
import { searchText, titleOf } from '../protocol/index.ts'

/** How a thread that starts with these entries is listed and searched. */
export function labelOf(
  { id, agent, metadata }: Pick<NewThread, 'id' | 'agent' | 'metadata'>,
  entries: Iterable<Pick<Entry, 'event'>> = [],
  title = titleOf(entries),
): ThreadLabel {
  return { title, search: searchText({ id, agent, metadata, title }) }
}
