/** Two items that match, or one that has no match on the other side. */
export interface Step<Item> {
  readonly before?: Item
  readonly after?: Item
}

export interface Piece {
  readonly kind: 'same' | 'removed' | 'added'
  readonly text: string
}

/** More differences than this are shown as one: the time and memory grow with their square. */
const maxEdits = 1000

/** The shortest way from one list to the other (Myers, An O(ND) Difference Algorithm). */
export function diff<Item>(
  before: readonly Item[],
  after: readonly Item[],
  isSame: (one: Item, other: Item) => boolean = Object.is,
): Step<Item>[] {
  const matches = (x: number, y: number) =>
    x < before.length && y < after.length && isSame(before[x] as Item, after[y] as Item)
  const most = Math.min(before.length + after.length, maxEdits)
  /** How far each diagonal has come, after each number of edits. Diagonal k is at k + zero. */
  const trace: Int32Array[] = []
  const zero = most + 1
  const reached = new Int32Array(2 * most + 3)
  const comesDown = (line: Int32Array, edits: number, k: number) =>
    k === -edits || (k !== edits && (line[zero + k - 1] ?? 0) < (line[zero + k + 1] ?? 0))
  for (let edits = 0; edits <= most; edits++) {
    trace.push(reached.slice())
    for (let k = -edits; k <= edits; k += 2) {
      let x = comesDown(reached, edits, k) ? (reached[zero + k + 1] ?? 0) : (reached[zero + k - 1] ?? 0) + 1
      while (matches(x, x - k)) x++
      reached[zero + k] = x
      if (x >= before.length && x - k >= after.length) return stepsBack()
    }
  }
  return [...before.map((item) => ({ before: item })), ...after.map((item) => ({ after: item }))]

  function stepsBack(): Step<Item>[] {
    const steps: Step<Item>[] = []
    let [x, y] = [before.length, after.length]
    for (let edits = trace.length - 1; edits >= 0; edits--) {
      const line = trace[edits] as Int32Array
      const isDown = comesDown(line, edits, x - y)
      const k = x - y + (isDown ? 1 : -1)
      const from = line[zero + k] ?? 0
      while (x > from && y > from - k) steps.push({ before: before[--x] as Item, after: after[--y] as Item })
      if (edits > 0) steps.push(isDown ? { after: after[--y] as Item } : { before: before[--x] as Item })
    }
    return steps.reverse()
  }
}

/** Words with the space before them; other characters one by one. */
const words = /\s*(?:[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_])|\s+/gu

/** Two texts as one: what they share, and what was removed and added. White space is ignored. */
export function wordDiff(before: string, after: string): Piece[] {
  const pieces: { kind: Piece['kind']; text: string }[] = []
  const steps = diff(
    before.match(words) ?? [],
    after.match(words) ?? [],
    (one, other) => one.trim() === other.trim(),
  )
  for (const { before: old, after: now } of steps) {
    const kind = old === undefined ? 'added' : now === undefined ? 'removed' : 'same'
    const text = now ?? old ?? ''
    const last = pieces.at(-1)
    if (last?.kind === kind) last.text += text
    else pieces.push({ kind, text })
  }
  return pieces
}
