/** What is read aloud, being written down with where it comes from. */
export interface Words {
  /** One or more code units that stand in the source from `origin` on, or come from that place. */
  write(text: string, origin: number): void
  /** Space, of which any amount is one. None is kept at the beginning and the end. */
  gap(origin: number): void
  /** Something was left out: words do not grow together, but a stop comes close to what was before it. */
  omit(origin: number): void
  /** A short pause. */
  comma(origin: number): void
  finish(end: number): Spoken
}

export interface Spoken {
  readonly speech: string
  readonly origins: readonly number[]
}

const speakable = /[\p{L}\p{N}]/u
const pictograph = /\p{Extended_Pictographic}|\p{Regional_Indicator}/u
const close = /^[.,!?;:…。！？)]/

export function words({ emoji }: { readonly emoji: 'skip' | 'read' }): Words {
  let speech = ''
  const origins: number[] = []
  let between = ''
  let betweenAt = 0
  let omitted = false

  function add(text: string, origin: number, step: 0 | 1) {
    for (let at = 0; at < text.length; at++) origins.push(origin + at * step)
    speech += text
  }

  return {
    write(text, origin) {
      if (omitted && between === ' ' && close.test(text)) between = ''
      if (between && speech) add(between, betweenAt, 0)
      between = ''
      omitted = false
      add(text, origin, 1)
    },
    gap(origin) {
      if (!between) [between, betweenAt] = [' ', origin]
    },
    omit(origin) {
      this.gap(origin)
      omitted = true
    },
    comma(origin) {
      if (!between.startsWith(',')) [between, betweenAt] = [', ', origin]
    },
    finish(end) {
      const isHeard = speakable.test(speech) || (emoji === 'read' && pictograph.test(speech))
      if (!isHeard) return { speech: '', origins: [end] }
      return { speech, origins: [...origins, end] }
    },
  }
}
