import { MillraceError } from 'millrace'

/** Reads audio from a stream of bytes in chunks of any size. */
export interface PcmReader {
  /** Returns the complete samples so far. Throws `stream_error` if the format is not supported. */
  push(bytes: Uint8Array): Int16Array<ArrayBuffer>
  /** Call it at the end of the stream. Throws `stream_error` if the audio is incomplete. */
  end(): void
  /** Known from the start, or once the header was read. */
  readonly sampleRate: number | undefined
}

/** Raw 16-bit little-endian mono samples. A chunk may end in the middle of a sample. */
export function rawReader(sampleRate: number): PcmReader {
  let odd: number | undefined
  return {
    sampleRate,
    push(bytes) {
      const whole = odd === undefined ? bytes : concat(Uint8Array.of(odd), bytes)
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
 * A WAV file (RIFF, 16 bits). A writer to a pipe does not know the length: espeak-ng writes
 * 0x7ffff024, others 0 or 0xffffffff. The end of the stream then ends the audio. Several channels
 * are averaged.
 */
export function wavReader(): PcmReader {
  let held: Uint8Array = new Uint8Array()
  let format: Format | undefined
  /** How many bytes of audio remain; undefined before the header was read. */
  let left: number | undefined

  /** Reads the header as far as possible. True once it is complete. */
  function readHeader(): boolean {
    if (left !== undefined) return true
    const view = new DataView(held.buffer, held.byteOffset, held.length)
    const name = (at: number) => String.fromCharCode(...held.subarray(at, at + 4))
    if (held.length >= 4 && name(0) !== 'RIFF') throw unreadable(`it starts with ${JSON.stringify(name(0))}`)
    if (held.length >= 12 && name(8) !== 'WAVE') throw unreadable('it is another RIFF format')
    for (let at = 12; at + 8 <= held.length; ) {
      const size = view.getUint32(at + 4, true)
      if (name(at) === 'data') {
        if (!format) throw unreadable('it has no format chunk')
        const isKnown = size > 0 && size < unknownLength
        left = isKnown ? size - (size % (2 * format.channels)) : Number.POSITIVE_INFINITY
        held = held.slice(at + 8)
        return true
      }
      if (at + 8 + size > held.length) break
      if (name(at) === 'fmt ' && size >= 16) format = formatAt(view, at + 8)
      // Odd lengths are padded with a byte (RIFF, 1991, 2).
      at += 8 + size + (size % 2)
    }
    if (held.length > maxHeaderBytes) throw unreadable('it has no audio data')
    return false
  }

  return {
    get sampleRate() {
      return left === undefined ? undefined : format?.sampleRate
    },
    push(bytes) {
      // Metadata may follow the audio.
      if (left === 0) return new Int16Array()
      held = concat(held, bytes)
      if (!readHeader() || !format || left === undefined) return new Int16Array()
      const frame = 2 * format.channels
      const length = Math.floor(Math.min(held.length, left) / frame) * frame
      const samples = samplesIn(held.subarray(0, length))
      left -= length
      held = held.slice(length)
      return format.channels === 1 ? samples : mixDown(samples, format.channels)
    },
    end() {
      if (left === undefined || (Number.isFinite(left) && left > 0)) throw cutOff()
    },
  }
}

const maxHeaderBytes = 64 * 1024
/** 13 hours: lengths from here on are placeholders. */
const unknownLength = 0x7f000000

function formatAt(view: DataView, at: number): Format {
  const [kind, channels] = [view.getUint16(at, true), view.getUint16(at + 2, true)]
  const [sampleRate, bits] = [view.getUint32(at + 4, true), view.getUint16(at + 14, true)]
  // 0xfffe is WAVE_FORMAT_EXTENSIBLE, which usually holds PCM too.
  if ((kind !== 1 && kind !== 0xfffe) || bits !== 16 || channels === 0 || sampleRate === 0)
    throw unreadable(`it has ${bits}-bit samples in format ${kind}; only 16 bits in format 1 are supported`)
  return { channels, sampleRate }
}

function unreadable(what: string): MillraceError {
  return new MillraceError({
    op: 'speech.synthesize',
    code: 'stream_error',
    message: `not a readable WAV file: ${what}`,
    retryable: false,
  })
}

function cutOff(): MillraceError {
  return new MillraceError({
    op: 'speech.synthesize',
    code: 'stream_error',
    message: 'the audio ends early: more data was expected',
  })
}

/** A copy, since the bytes may start at an odd offset. */
function samplesIn(bytes: Uint8Array): Int16Array<ArrayBuffer> {
  const even = bytes.length - (bytes.length % 2)
  return new Int16Array(new Uint8Array(bytes.subarray(0, even)).buffer)
}

function mixDown(samples: Int16Array, channels: number): Int16Array<ArrayBuffer> {
  return Int16Array.from({ length: samples.length / channels }, (_, at) => {
    let sum = 0
    for (let channel = 0; channel < channels; channel++) sum += samples[at * channels + channel] ?? 0
    return Math.round(sum / channels)
  })
}

function concat(one: Uint8Array, other: Uint8Array): Uint8Array {
  if (one.length === 0) return other
  const all = new Uint8Array(one.length + other.length)
  all.set(one)
  all.set(other, one.length)
  return all
}
