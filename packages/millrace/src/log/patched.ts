import type { JsonObject, ThreadEvent, ThreadInfo } from '../protocol/index.ts'
import { mergePatch, searchText } from '../protocol/index.ts'

// How every store keeps the metadata of a thread, which events of its log change.

/** The changes of metadata among events that are about to be written. */
export function patchesIn(events: readonly ThreadEvent[]): JsonObject[] {
  const patches: JsonObject[] = []
  for (const event of events) if (event.type === 'metadata') patches.push(event.patch)
  return patches
}

/** The metadata of a thread after these patches, and the text in which searches find it then. */
export function patchedThread(
  thread: Pick<ThreadInfo, 'id' | 'agent' | 'title' | 'metadata'>,
  patches: readonly JsonObject[],
): { readonly metadata: JsonObject; readonly search: string } {
  const metadata = patches.reduce((merged, patch) => mergePatch(merged, patch), thread.metadata ?? {})
  return { metadata, search: searchText({ ...thread, metadata }) }
}
