import type { ModelEvent } from '../../protocol/index.ts'
import { metadataOf } from './finish.ts'

/** `text` and `reasoning` of the SDK come in blocks with ids, which may overlap; ours are parts, one after the other. */
export interface Blocks {
  start(kind: Kind, id: string, metadata: unknown): void
  delta(kind: Kind, id: string, text: string, metadata: unknown): void
  end(kind: Kind, id: string, metadata: unknown): void
  /** Something else takes its place in the message: what is being said is cut there. */
  interrupt(): void
  /** Ends what the provider has left open. */
  close(): void
}

type Kind = 'text' | 'reasoning'

interface Block {
  readonly kind: Kind
  readonly key: string
  /** The latest that came with it, as it came: a provider repeats what still holds, since the SDK's own loop does the same. */
  metadata: unknown
  /** The words told last were its own, and their part is not ended yet. */
  speaking: boolean
  /** Its words were cut by others, and told with what was known then. */
  wasCut: boolean
}

export function blocks(events: ModelEvent[], provider: string): Blocks {
  const open = new Map<string, Block>()
  /** Whose words were the last to be told. It may have ended already. */
  let speaker: Block | undefined
  /** Every `opaque` that was told, so that none is told twice. */
  const told = new Set<string>()
  /** What came to blocks that were cut, while another spoke. */
  const late: Block[] = []

  function blockOf(kind: Kind, id: string): Block {
    const key = `${kind} ${id}`
    const known = open.get(key)
    if (known) return known
    const block: Block = { kind, key, metadata: undefined, speaking: false, wasCut: false }
    open.set(key, block)
    return block
  }

  function endPart({ kind, metadata }: Block) {
    const data = metadataOf(metadata)
    if (data) told.add(kind + JSON.stringify(data))
    events.push({ type: 'part-end', part: kind, ...(data && { opaque: { provider, data } }) })
  }

  /** What the speaker has said is a part of its own from here on, with what is known of it. */
  function cut(next?: Kind) {
    if (!speaker) return
    // Without anything to carry, a change of kind is enough to part the two.
    if (speaker.metadata || speaker.kind === next) endPart(speaker)
    speaker.speaking = false
    speaker.wasCut = true
    speaker = undefined
  }

  function tellLate() {
    for (const block of late.splice(0))
      if (!told.has(block.kind + JSON.stringify(metadataOf(block.metadata)))) endPart(block)
  }

  function end(block: Block) {
    open.delete(block.key)
    if (block.speaking) {
      // Text with nothing to carry ends by itself; only more text right behind it needs the cut, which `cut` makes.
      if (block.kind === 'text' && !block.metadata) return
      endPart(block)
      block.speaking = false
      speaker = undefined
      return tellLate()
    }
    if (!block.metadata) return
    if (block.wasCut) {
      late.push(block)
      if (!speaker || !open.has(speaker.key)) {
        cut(block.kind)
        tellLate()
      }
      return
    }
    // No words, only something to give back: a redacted block, a signature alone.
    cut(block.kind)
    endPart(block)
  }

  return {
    start(kind, id, metadata) {
      blockOf(kind, id).metadata = metadata
    },
    delta(kind, id, text, metadata) {
      const block = blockOf(kind, id)
      if (metadata) block.metadata = metadata
      if (!text) return
      if (!block.speaking) {
        cut(kind)
        block.speaking = true
        speaker = block
      }
      events.push({ type: kind, text })
    },
    end(kind, id, metadata) {
      const block = blockOf(kind, id)
      if (metadata) block.metadata = metadata
      end(block)
    },
    interrupt: () => cut(),
    close() {
      for (const block of [...open.values()]) end(block)
      tellLate()
    },
  }
}
