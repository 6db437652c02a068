import type { Clock } from '../protocol/index.ts'

const itemsPerTurn = 256

/** Acts on each item in order until the run is over. Timers, sockets and other runs have their turn between slices of them. */
export async function inTurns<Item>(
  items: Iterable<Item>,
  { clock, isOver }: { readonly clock: Clock; readonly isOver: () => boolean },
  act: (item: Item) => void,
): Promise<void> {
  let count = 0
  for (const item of items) {
    if (++count % itemsPerTurn === 0) await clock.turn()
    if (isOver()) return
    act(item)
  }
}
