import type { ChildProcessByStdio } from 'node:child_process'
import { spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { MillraceError } from 'millrace'
import type { OptionTable, Problem } from 'millrace/internal'
import { checkOptions, duration, invalidInput, isObject, kindOf, nameOf, someText } from 'millrace/internal'
import type { Speech, SpeechChunk, SynthesizeOptions } from '../speech.ts'
import { interrupted, patient } from './patience.ts'
import { wavReader } from './wav.ts'

export interface EspeakOptions {
  /** Where it is, if not on the PATH under its own name. */
  readonly program?: string | undefined
  /** One of `espeak-ng --voices`, with a variant behind a plus: `de`, `en-us+f3`. `en` if absent. */
  readonly voice?: string | undefined
  /** How fast it speaks, from 0.5 to 3; 1 if absent. */
  readonly speed?: number | undefined
  /** It is ended when nothing comes from it for so long; 10000 if absent. */
  readonly timeoutMs?: number | undefined
}

const table: OptionTable<EspeakOptions> = {
  program: someText,
  voice: voiceProblem,
  speed: speedProblem,
  timeoutMs: duration,
}

/** Of 1, in words a minute. */
const usualSpeed = 175
/** Between one sentence and the next. */
const silenceAfterMs = 150

/**
 * The program espeak-ng, where it is installed: more than a hundred languages, and sound after 15 ms. It runs once for each text and
 * tells no times of words. Its licence is the GPL, which ends at the border of a program.
 */
export function espeak(options: EspeakOptions = {}): Speech {
  if (!isObject(options as unknown))
    throw invalidInput('espeak', `the options of espeak() must be an object, not ${kindOf(options)}`)
  checkOptions(options, table, { op: 'espeak', what: 'the option of espeak()' })
  const { program = 'espeak-ng', voice: usual, speed = 1, timeoutMs = 10_000 } = options

  async function* synthesize(text: string, told: SynthesizeOptions): AsyncGenerator<SpeechChunk, void> {
    const { signal } = told
    const voice = told.voice ?? voiceFor(told.language, usual)
    const problem = voiceProblem(voice)
    if (problem) throw invalidInput('speech.synthesize', `a voice of espeak-ng ${problem}`)
    if (signal.aborted) throw interrupted()
    const input = plain(text)
    if (!input.trim()) return

    const pace = String(Math.round(usualSpeed * speed))
    // Text is UTF-8; with no pause at the end, since its own is twice too long for speech that goes on.
    const args = ['-v', voice, '-s', pace, '-b', '1', '-z', '--stdin', '--stdout']
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    const ended = endOf(child, program, voice)
    // Looked at only when its sound has been read.
    ended.catch(() => {})
    const abort = () => void child.kill('SIGKILL')
    signal.addEventListener('abort', abort)
    try {
      // It may have ended before it has read all: why is told by its end.
      child.stdin.on('error', () => {})
      child.stdin.end(input)
      yield* soundOf(child.stdout, ended, (next) => patient(next, timeoutMs, program))
    } catch (thrown) {
      throw signal.aborted ? interrupted() : thrown
    } finally {
      signal.removeEventListener('abort', abort)
      child.kill('SIGKILL')
      // With something in it that nobody reads it would not close.
      child.stdout.destroy()
      await ended.catch(() => {})
    }
  }

  return { synthesize }
}

async function* soundOf(
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

/** Settles when the process is gone, and its pipes with it. Rejects if it could not begin, or did not end well. */
async function endOf(
  child: ChildProcessByStdio<Writable, Readable, Readable>,
  program: string,
  voice: string,
): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<number | null>()
  let failure: unknown
  child.on('error', (error) => {
    failure = error
    // What has not begun does not always close.
    if (child.pid === undefined) resolve(null)
  })
  child.on('close', resolve)
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = `${said}${text}`.slice(0, 500)
  })
  const code = await promise
  if (isObject(failure) && failure.code === 'ENOENT') throw missing(program)
  if (failure) throw failed(`${program} cannot be run`, failure)
  if (/voice does not exist/.test(said))
    throw invalidInput('speech.synthesize', `${program} has no voice '${voice}': look at ${program} --voices`)
  if (code !== 0) throw failed(`${program} ended with ${code ?? child.signalCode}: ${said.trim()}`)
}

function missing(program: string): MillraceError {
  return new MillraceError({
    op: 'speech.synthesize',
    code: 'not_found',
    message: `there is no ${program}: install it (apt-get install espeak-ng, brew install espeak-ng), or tell espeak() where its program is`,
  })
}

function failed(message: string, cause?: unknown): MillraceError {
  return new MillraceError({ op: 'speech.synthesize', code: 'internal', message, cause })
}

/** A NUL ends a text for it, and two brackets begin a list of its phonemes. */
function plain(text: string): string {
  return text
    .toWellFormed()
    .replace(/\p{Cc}+/gu, ' ')
    .replace(/\[(?=\[)/g, '[ ')
}

/** Languages that it knows under another name than BCP 47 does. */
const names = new Map([
  ['zh', 'cmn'],
  ['zh-hk', 'yue'],
])

/** The usual voice, unless that speaks another language than the one that is asked for. */
function voiceFor(language: string | undefined, usual: string | undefined): string {
  if (language === undefined) return usual ?? 'en'
  const tag = language.toLowerCase()
  const name = names.get(tag) ?? names.get(mainOf(tag)) ?? tag
  return usual !== undefined && mainOf(usual) === mainOf(name) ? usual : name
}

/** `en` of `en-us+f3`. */
function mainOf(name: string): string {
  return /^[a-z]*/i.exec(name)?.[0].toLowerCase() ?? ''
}

function voiceProblem(value: unknown): Problem {
  const sound = typeof value === 'string' && /^\w[\w+()/ -]*$/.test(value)
  return !sound && `must be a name such as de or en-us+f3, not ${nameOf(value)}`
}

function speedProblem(value: unknown): Problem {
  const sound = typeof value === 'number' && value >= 0.5 && value <= 3
  return !sound && `must be a number from 0.5 to 3, not ${nameOf(value)}`
}
