/** Builds the text that is read aloud, with the origin of each character. */
export interface SpeechWriter {
  /** Adds code units from the source, starting at `origin`. */
  write(text: string, origin: number): void
  /** Adds space. Runs are collapsed; space at the start and the end is dropped. */
  gap(origin: number): void
  /** Marks omitted text: words stay separate, but a stop attaches to the text before it. */
  omit(origin: number): void
  /** Adds a short pause. */
  comma(origin: number): void
  finish(end: number): Spoken
}

export interface Spoken {
  readonly speech: string
  readonly origins: readonly number[]
}

const speakable = /[\p{L}\p{N}]/u
const pictograph = /\p{Extended_Pictographic}|\p{Regional_Indicator}/u
const clings = /^[.,!?;:…。！？)]/

export function speechWriter({ emoji }: { readonly emoji: 'skip' | 'read' }): SpeechWriter {
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
      if (omitted && between === ' ' && clings.test(text)) between = ''
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
      const isSpeakable = speakable.test(speech) || (emoji === 'read' && pictograph.test(speech))
      if (!isSpeakable) return { speech: '', origins: [end] }
      return { speech, origins: [...origins, end] }
    },
  }
}
