import type { ChildProcessByStdio } from 'node:child_process'
import { spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { MillraceError } from 'millrace'
import type { OptionTable, Problem } from 'millrace/internal'
import { checkOptions, duration, invalidInput, isObject, kindOf, nameOf, someText } from 'millrace/internal'
import type { Speech, SpeechChunk, SynthesizeOptions } from '../speech.ts'
import { aborted, withTimeout } from './timeout.ts'
import { wavReader } from './wav.ts'

export interface EspeakOptions {
  /** The path of the program. Default: `espeak-ng` on the PATH. */
  readonly program?: string | undefined
  /**
   * One of `espeak-ng --voices`, with an optional variant after a plus: `de`, `en-us+f3`. Default:
   * `en`.
   */
  readonly voice?: string | undefined
  /** The speaking rate, from 0.5 to 3. Default: 1. */
  readonly speed?: number | undefined
  /** The process is killed if it sends nothing for this long. Default: 10000. */
  readonly timeoutMs?: number | undefined
}

const table: OptionTable<EspeakOptions> = {
  program: someText,
  voice: voiceProblem,
  speed: speedProblem,
  timeoutMs: duration,
}

/** Words per minute at speed 1. */
const normalSpeed = 175
/** The pause between sentences. */
const silenceAfterMs = 150

/**
 * The program espeak-ng, which must be installed: more than a hundred languages, and audio after
 * 15 ms. It runs once per text and has no word timings. Its license, the GPL, does not extend to
 * programs that call it.
 */
export function espeak(options: EspeakOptions = {}): Speech {
  if (!isObject(options as unknown))
    throw invalidInput('espeak', `the options of espeak() must be an object, not ${kindOf(options)}`)
  checkOptions(options, table, { op: 'espeak', what: 'the option of espeak()' })
  const { program = 'espeak-ng', voice: defaultVoice, speed = 1, timeoutMs = 10_000 } = options

  async function* synthesize(
    text: string,
    speechOptions: SynthesizeOptions,
  ): AsyncGenerator<SpeechChunk, void> {
    const { signal } = speechOptions
    const voice = speechOptions.voice ?? voiceFor(speechOptions.language, defaultVoice)
    const problem = voiceProblem(voice)
    if (problem) throw invalidInput('speech.synthesize', `the espeak-ng voice ${problem}`)
    if (signal.aborted) throw aborted()
    const input = sanitize(text)
    if (!input.trim()) return

    const pace = String(Math.round(normalSpeed * speed))
    // -b 1: UTF-8. -z: no pause at the end, since its own is twice as long as it should be.
    const args = ['-v', voice, '-s', pace, '-b', '1', '-z', '--stdin', '--stdout']
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    const ended = processEnd(child, program, voice)
    // Awaited only after all audio has been read.
    ended.catch(() => {})
    const abort = () => void child.kill('SIGKILL')
    signal.addEventListener('abort', abort)
    try {
      // The process may exit before it has read everything; its exit says why.
      child.stdin.on('error', () => {})
      child.stdin.end(input)
      yield* audioOf(child.stdout, ended, (next) => withTimeout(next, timeoutMs, program))
    } catch (thrown) {
      throw signal.aborted ? aborted() : thrown
    } finally {
      signal.removeEventListener('abort', abort)
      child.kill('SIGKILL')
      // With unread data in the pipe, `close` would never come.
      child.stdout.destroy()
      await ended.catch(() => {})
    }
  }

  return { synthesize }
}

async function* audioOf(
  stdout: Readable,
  ended: Promise<void>,
  wait: <Value>(next: Promise<Value>) => Promise<Value>,
): AsyncGenerator<SpeechChunk, void> {
  const reader = wavReader()
  const pieces = stdout[Symbol.asyncIterator]()
  for (let next = await wait(pieces.next()); !next.done; next = await wait(pieces.next())) {
    const pcm = reader.push(next.value as Uint8Array)
    const { sampleRate } = reader
    if (pcm.length > 0 && sampleRate !== undefined) yield { pcm, sampleRate }
  }
  await wait(ended)
  reader.end()
  const sampleRate = reader.sampleRate ?? 0
  yield { pcm: new Int16Array((sampleRate * silenceAfterMs) / 1000), sampleRate }
}

/** Settles when the process and its pipes are closed. Rejects if it did not start or failed. */
async function processEnd(
  child: ChildProcessByStdio<Writable, Readable, Readable>,
  program: string,
  voice: string,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<number | null>()
  let failure: unknown
  child.on('error', (error) => {
    failure = error
    // `close` may not follow if the process did not start.
    if (child.pid === undefined) resolve(null)
  })
  child.on('close', resolve)
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = `${stderr}${text}`.slice(0, 500)
  })
  const code = await promise
  if (isObject(failure) && failure.code === 'ENOENT') throw missing(program)
  if (failure) throw failed(`${program} cannot be run`, failure)
  if (/voice does not exist/.test(stderr))
    throw invalidInput(
      'speech.synthesize',
      `${program} has no voice '${voice}': run ${program} --voices for a list`,
    )
  if (code !== 0) throw failed(`${program} exited with ${code ?? child.signalCode}: ${stderr.trim()}`)
}

function missing(program: string): MillraceError {
  return new MillraceError({
    op: 'speech.synthesize',
    code: 'not_found',
    message: `${program} not found: install it (apt-get install espeak-ng, brew install espeak-ng), or pass its path as program to espeak()`,
  })
}

function failed(message: string, cause?: unknown): MillraceError {
  return new MillraceError({ op: 'speech.synthesize', code: 'internal', message, cause })
}

/** For espeak-ng, a NUL ends the text and two brackets start a list of phonemes. */
function sanitize(text: string): string {
  return text
    .toWellFormed()
    .replace(/\p{Cc}+/gu, ' ')
    .replace(/\[(?=\[)/g, '[ ')
}

/** Languages whose name differs from BCP 47. */
const names = new Map([
  ['zh', 'cmn'],
  ['zh-hk', 'yue'],
])

/** The default voice, unless it speaks another language than the requested one. */
function voiceFor(language: string | undefined, usual: string | undefined): string {
  if (language === undefined) return usual ?? 'en'
  const tag = language.toLowerCase()
  const name = names.get(tag) ?? names.get(baseLanguage(tag)) ?? tag
  return usual !== undefined && baseLanguage(usual) === baseLanguage(name) ? usual : name
}

/** `en` of `en-us+f3`. */
function baseLanguage(name: string): string {
  return /^[a-z]*/i.exec(name)?.[0].toLowerCase() ?? ''
}

function voiceProblem(value: unknown): Problem {
  const isValid = typeof value === 'string' && /^\w[\w+()/ -]*$/.test(value)
  return !isValid && `must be a name such as de or en-us+f3, not ${nameOf(value)}`
}

function speedProblem(value: unknown): Problem {
  const isValid = typeof value === 'number' && value >= 0.5 && value <= 3
  return !isValid && `must be a number from 0.5 to 3, not ${nameOf(value)}`
}
