import type { LiveLog } from '../log/index.ts'
import type { JsonObject, RunEvent } from '../protocol/index.ts'
import { metadataEvent, readPatch } from '../protocol/index.ts'
import type { Metadata } from '../tools/index.ts'

/** The metadata that the tools of a run read and change, in its log. */
export function runMetadata(
  log: LiveLog,
  initial: JsonObject | undefined,
  emit: (event: RunEvent) => void,
): Metadata {
  const current = () => log.state.metadata?.current ?? initial ?? {}
  return {
    current,
    update(patch) {
      const read = readPatch(patch, current(), 'context.updateMetadata')
      emit(metadataEvent(log.state.metadata, read, initial))
    },
  }
}
