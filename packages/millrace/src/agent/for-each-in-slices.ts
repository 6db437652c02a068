import type { Clock } from '../protocol/index.ts'

const itemsPerSlice = 256

/**
 * Calls `act` for each item in order until the run stops. Yields between slices to timers, sockets
 * and other runs.
 */
export async function forEachInSlices<Item>(
  items: Iterable<Item>,
  { clock, isStopped }: { readonly clock: Clock; readonly isStopped: () => boolean },
  act: (item: Item) => void,
): Promise<void> {
  let count = 0
  for (const item of items) {
    if (++count % itemsPerSlice === 0) await clock.turn()
    if (isStopped()) return
    act(item)
  }
}
