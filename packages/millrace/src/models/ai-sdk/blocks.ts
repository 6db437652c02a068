import type { ModelEvent } from '../../protocol/index.ts'
import { metadataOf } from './finish.ts'

/**
 * The SDK's text and reasoning come in blocks with ids, which may overlap. Ours are consecutive
 * parts.
 */
export interface Blocks {
  start(kind: Kind, id: string, metadata: unknown): void
  delta(kind: Kind, id: string, text: string, metadata: unknown): void
  end(kind: Kind, id: string, metadata: unknown): void
  /** Ends the current part, because something else comes next in the message. */
  interrupt(): void
  /** Ends the blocks that the provider left open. */
  close(): void
}

type Kind = 'text' | 'reasoning'

interface Block {
  readonly kind: Kind
  readonly key: string
  /** Only the latest, like in the SDK's own loop: a provider repeats what is still valid. */
  metadata: unknown
  /** The current part is its own and has not ended. */
  isOpen: boolean
  /** Its part was ended early by another block, with the metadata known at that point. */
  wasCut: boolean
}

export function blocks(events: ModelEvent[], provider: string): Blocks {
  const open = new Map<string, Block>()
  /** The block of the latest text. It may have ended already. */
  let current: Block | undefined
  /** Every `opaque` that was emitted, so that none is emitted twice. */
  const emitted = new Set<string>()
  /** Ended blocks that were cut and got metadata while another block was current. */
  const late: Block[] = []

  function blockOf(kind: Kind, id: string): Block {
    const key = `${kind} ${id}`
    const known = open.get(key)
    if (known) return known
    const block: Block = { kind, key, metadata: undefined, isOpen: false, wasCut: false }
    open.set(key, block)
    return block
  }

  function endPart({ kind, metadata }: Block) {
    const data = metadataOf(metadata)
    if (data) emitted.add(kind + JSON.stringify(data))
    events.push({ type: 'part-end', part: kind, ...(data && { opaque: { provider, data } }) })
  }

  /** Ends the part of the current block, with the metadata known so far. */
  function cut(next?: Kind) {
    if (!current) return
    // Without metadata, a change of kind is enough to separate the two parts.
    if (current.metadata || current.kind === next) endPart(current)
    current.isOpen = false
    current.wasCut = true
    current = undefined
  }

  function emitLate() {
    for (const block of late.splice(0))
      if (!emitted.has(block.kind + JSON.stringify(metadataOf(block.metadata)))) endPart(block)
  }

  function end(block: Block) {
    open.delete(block.key)
    if (block.isOpen) {
      // Text without metadata needs no `part-end` unless more text follows: `cut` emits it then.
      if (block.kind === 'text' && !block.metadata) return
      endPart(block)
      block.isOpen = false
      current = undefined
      return emitLate()
    }
    if (!block.metadata) return
    if (block.wasCut) {
      late.push(block)
      if (!current || !open.has(current.key)) {
        cut(block.kind)
        emitLate()
      }
      return
    }
    // No text, only metadata to send back: a redacted block, or a signature alone.
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
      if (!block.isOpen) {
        cut(kind)
        block.isOpen = true
        current = block
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
      emitLate()
    },
  }
}
