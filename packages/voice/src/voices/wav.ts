import { MillraceError } from 'millrace'

/** Sound out of a stream of bytes that come in any pieces. */
export interface PcmReader {
  /** What is complete by now. Throws `stream_error` if it is no sound that can be read. */
  push(bytes: Uint8Array): Int16Array<ArrayBuffer>
  /** To be called when there are no more bytes. Throws `stream_error` if there should be. */
  end(): void
  /** Known from the beginning, or once the header has been read. */
  readonly sampleRate: number | undefined
}

/** Samples of 16 bits, little-endian, one channel, and nothing else. A cut may go through a sample. */
export function rawReader(sampleRate: number): PcmReader {
  let odd: number | undefined
  return {
    sampleRate,
    push(bytes) {
      const whole = odd === undefined ? bytes : joined(Uint8Array.of(odd), bytes)
      odd = whole.length % 2 > 0 ? whole.at(-1) : undefined
      return samplesIn(whole)
    },
    end() {
      if (odd !== undefined) throw cutOff()
    },
  }
}

interface Format {
  readonly channels: number
  readonly sampleRate: number
}

/**
 * A WAV file (RIFF, 16 bits). What is written to a pipe cannot know its length: espeak-ng says 0x7ffff024, others 0 or 0xffffffff, so
 * that the end of the stream is an end too. Of several channels their mean is taken.
 */
export function wavReader(): PcmReader {
  let held: Uint8Array = new Uint8Array()
  let format: Format | undefined
  /** How many bytes of sound are to come; undefined before they have begun. */
  let left: number | undefined

  /** Reads the header as far as it is there. True when sound follows. */
  function begun(): boolean {
    if (left !== undefined) return true
    const view = new DataView(held.buffer, held.byteOffset, held.length)
    const name = (at: number) => String.fromCharCode(...held.subarray(at, at + 4))
    if (held.length >= 4 && name(0) !== 'RIFF') throw unreadable(`begins with ${JSON.stringify(name(0))}`)
    if (held.length >= 12 && name(8) !== 'WAVE') throw unreadable('holds something else')
    for (let at = 12; at + 8 <= held.length; ) {
      const size = view.getUint32(at + 4, true)
      if (name(at) === 'data') {
        if (!format) throw unreadable('does not say what its samples are')
        const isKnown = size > 0 && size < unknownLength
        left = isKnown ? size - (size % (2 * format.channels)) : Number.POSITIVE_INFINITY
        held = held.slice(at + 8)
        return true
      }
      if (at + 8 + size > held.length) break
      if (name(at) === 'fmt ' && size >= 16) format = formatAt(view, at + 8)
      // Of an odd length there is a byte more (RIFF, 1991, 2).
      at += 8 + size + (size % 2)
    }
    if (held.length > longestHeader) throw unreadable('has no sound in it')
    return false
  }

  return {
    get sampleRate() {
      return left === undefined ? undefined : format?.sampleRate
    },
    push(bytes) {
      // Behind the sound there may be a list of who made it.
      if (left === 0) return new Int16Array()
      held = joined(held, bytes)
      if (!begun() || !format || left === undefined) return new Int16Array()
      const frame = 2 * format.channels
      const length = Math.floor(Math.min(held.length, left) / frame) * frame
      const sound = samplesIn(held.subarray(0, length))
      left -= length
      held = held.slice(length)
      return format.channels === 1 ? sound : mixed(sound, format.channels)
    },
    end() {
      if (left === undefined || (Number.isFinite(left) && left > 0)) throw cutOff()
    },
  }
}

const longestHeader = 64 * 1024
/** 13 hours: nobody has counted that. */
const unknownLength = 0x7f000000

function formatAt(view: DataView, at: number): Format {
  const [kind, channels] = [view.getUint16(at, true), view.getUint16(at + 2, true)]
  const [sampleRate, bits] = [view.getUint32(at + 4, true), view.getUint16(at + 14, true)]
  // 0xfffe is a list of details about what is, as a rule, the same.
  if ((kind !== 1 && kind !== 0xfffe) || bits !== 16 || channels === 0 || sampleRate === 0)
    throw unreadable(`has samples of ${bits} bits in format ${kind}, and only 16 bits in format 1 are read`)
  return { channels, sampleRate }
}

function unreadable(what: string): MillraceError {
  return new MillraceError({
    op: 'speech.synthesize',
    code: 'stream_error',
    message: `what should be a WAV file ${what}`,
    retryable: false,
  })
}

function cutOff(): MillraceError {
  return new MillraceError({
    op: 'speech.synthesize',
    code: 'stream_error',
    message: 'the sound breaks off: there should be more of it',
  })
}

/** A copy: bytes from elsewhere may begin at an odd address. */
function samplesIn(bytes: Uint8Array): Int16Array<ArrayBuffer> {
  const even = bytes.length - (bytes.length % 2)
  return new Int16Array(new Uint8Array(bytes.subarray(0, even)).buffer)
}

function mixed(samples: Int16Array, channels: number): Int16Array<ArrayBuffer> {
  return Int16Array.from({ length: samples.length / channels }, (_, at) => {
    let sum = 0
    for (let channel = 0; channel < channels; channel++) sum += samples[at * channels + channel] ?? 0
    return Math.round(sum / channels)
  })
}

function joined(one: Uint8Array, other: Uint8Array): Uint8Array {
  if (one.length === 0) return other
  const all = new Uint8Array(one.length + other.length)
  all.set(one)
  all.set(other, one.length)
  return all
}
