import type { FollowOptions, Thread } from 'millrace'
import type { TurnRecord, VoicePlace } from 'millrace/internal'
import { publicError, sleep } from 'millrace/internal'
import type { VoiceOutlet } from 'millrace/server'
import type { VoiceSettings } from '../options.ts'
import { filler } from './filler.ts'
import { playbackRecorder } from './playback-recorder.ts'
import type { Reading, ReadingStep, SpokenRun } from './reading.ts'
import { reading, startOfRun } from './reading.ts'
import type { Utterance } from './segment.ts'
import { speaker as startSpeaker } from './speaker.ts'
import type { Turn } from './turn.ts'
import { placeHeard, recordOf } from './turn.ts'

export interface SpeechOutputOptions extends VoiceSettings {
  readonly thread: Thread
  readonly outlet: VoiceOutlet
  readonly sampleRate: number
  /** Of its connection: no number comes twice, also if the voice is switched off and on, since a report of an old turn may be under way. */
  readonly count: { turns: number; frames: number }
  /** Where a client was that has come back. */
  readonly from?: VoicePlace | undefined
  /** What it had not heard to the end over the connection before. */
  readonly inherited: readonly Turn[]
  /** Tells the client how a turn went. */
  readonly tell: (record: TurnRecord) => void
}

/** Speaks a thread to one client: a queue of turns, run after run. */
export interface SpeechOutput {
  /** There is something that the client has yet to play. */
  readonly isSpeaking: boolean
  played(turn: number, position: number): void
  pause(): void
  resume(): void
  /**
   * Says nothing more of what there is, and writes to the log what was heard of it. `stoppedAt` is where the client has stopped by
   * itself. With `cancel` the run is ended too. Never rejects.
   */
  interrupt(options: InterruptOptions): Promise<void>
  /** The run that answers this input is timed from this moment. */
  asked(seq: number, at: number): void
  /** Says nothing more, and gives what was not heard to the end. What was heard of it is written later by `lost`, if at all. */
  close(): readonly Turn[]
  /** The client wants to hear nothing more: the rest is taken as read. */
  leave(): void
  /** The client did not come back: what it had heard when it was closed is all. */
  lost(): Promise<void>
}

interface Stop {
  readonly turn: number
  readonly position: number
}

interface InterruptOptions {
  readonly stoppedAt?: Stop | undefined
  readonly cancel: boolean
}

/** The run that is being read. */
interface CurrentRun {
  readonly run: SpokenRun
  /** What is being said of it; undefined if nothing is, or what there was has ended. */
  turn: Turn | undefined
  /** How much was heard of the rounds up to this one is known, or up to an earlier turn. */
  settled: number
  /** The rest of it is not said, unless it answers something else. */
  isSilenced: boolean
}

/** So long a client may take to say where it has stopped. */
const answerMs = 250

export function openSpeechOutput(options: SpeechOutputOptions): SpeechOutput {
  const { thread, outlet, sampleRate, count, clock, onRecord, onError } = options
  const closing = new AbortController()
  const recorder = playbackRecorder(options)
  let log: Reading | undefined
  let current: CurrentRun | undefined
  /** The first is the one that is being played. */
  let turns: Turn[] = []
  /** Nothing of it was said here so far. */
  let inherited = options.inherited.findLast(({ run }) => run.id === options.from?.awaits)
  /** When a person had said an input. */
  const askedAt = new Map<number, number>()
  /** The one that the client was told to stop, until it says where it has. */
  let stopping: { readonly turn: Turn; readonly answered: AbortController } | undefined
  let isPaused = false

  function startTurn({ run, settled }: CurrentRun): Turn {
    const number = ++count.turns
    const speaker = startSpeaker({
      ...options,
      turn: number,
      nextSeq: () => count.frames++,
      after: turns.at(-1)?.speaker.done ?? Promise.resolve(),
      onFailed(error, text) {
        // The reason is for the server's owner, not for the client.
        outlet.tell({ type: 'voice_error', turn: number, text, message: 'this could not be spoken' })
        onError(error)
      },
    })
    const asked = run.inputs.map((input) => askedAt.get(input)).find((at) => at !== undefined)
    const turn: Turn = {
      number,
      run,
      after: settled,
      speaker,
      since: asked === undefined ? 'run' : 'speech',
      startedAt: asked ?? run.startedAt,
      firstSentenceAt: undefined,
    }
    if (inherited?.run.id === run.id) inherited = undefined
    outlet.tell({ type: 'voice_turn', turn: number, run: run.id, seq: run.seq })
    turns.push(turn)
    void speaker.done.then(() => finished(turn))
    return turn
  }

  function say(utterance: Utterance) {
    if (!current || current.isSilenced) return
    current.turn ??= startTurn(current)
    if (utterance.place) current.turn.firstSentenceAt ??= clock.now()
    current.turn.speaker.say(utterance)
  }

  /** The client has played all of it. */
  function finished(turn: Turn) {
    if (closing.signal.aborted || !turns.includes(turn)) return
    turns = turns.filter((one) => one !== turn)
    tellRecord(turn, 'completed')
    if (turn.run.isBack) void recorder.heardAll(turn.run, turn.after)
  }

  /** All of it had arrived when its connection was lost, so there is nothing to say of it but how it went. */
  function finishInherited({ id }: SpokenRun) {
    if (closing.signal.aborted || inherited?.run.id !== id) return
    inherited.speaker.played(inherited.speaker.samples)
    tellRecord(inherited, 'completed')
    inherited = undefined
  }

  function tellRecord(turn: Turn, outcome: TurnRecord['outcome']) {
    const record = recordOf(turn, outcome, sampleRate)
    options.tell(record)
    onRecord(record, thread.id)
  }

  function act(step: ReadingStep) {
    if (step.type === 'run') {
      const { run } = step
      for (const input of askedAt.keys()) if (input < Math.min(...run.inputs)) askedAt.delete(input)
      current = { run, turn: undefined, settled: 0, isSilenced: false }
    }
    if (!current) return
    switch (step.type) {
      case 'utterance':
        return say(step.utterance)
      case 'inputs':
        // It answers what was said since, so it is to be heard again.
        if (current.isSilenced) Object.assign(current, { isSilenced: false, settled: step.round - 1 })
        return
      case 'retract':
        current.settled = Math.min(current.settled, step.round - 1)
        for (const { run, speaker } of turns) if (run === current.run) speaker.retract(step.round)
        return
      case 'calls':
        return current.isSilenced ? undefined : wait.calls(step.running, step.name)
      case 'interrupt':
        return turns.length > 0 ? void interrupt({ cancel: false }) : undefined
      case 'round-end':
        return settleSilenced(current)
      case 'run-end':
        wait.cancel()
        settleSilenced(current)
        if (step.outcome === 'cancelled' && current.turn) void interrupt({ cancel: false })
        if (!current.turn) finishInherited(current.run)
        current.turn?.speaker.end()
        // What it says when a person has decided is another turn.
        Object.assign(current, { turn: undefined, settled: lastRound(current.run) })
    }
  }

  /** Nothing is heard of what a silenced run goes on to say. */
  function settleSilenced(current: CurrentRun) {
    if (!current.isSilenced) return
    void recorder.heard(current.run, current.settled)
    current.settled = lastRound(current.run)
  }

  /** Says nothing more of these turns, nor of the run that is under way. */
  async function silence(cut: readonly Turn[]) {
    for (const { speaker } of cut) speaker.silence()
    if (!current?.run.isOpen || current.isSilenced) return
    const { run, settled } = current
    Object.assign(current, { turn: undefined, settled: lastRound(run), isSilenced: true })
    // It has not come to say anything.
    if (cut.every((turn) => turn.run !== run)) await recorder.heard(run, settled, run.known)
  }

  async function record(cut: readonly Turn[], outcome: TurnRecord['outcome']) {
    for (const turn of cut) {
      await recorder.heard(turn.run, turn.after, placeHeard(turn, sampleRate))
      tellRecord(turn, outcome)
    }
  }

  async function interrupt({ stoppedAt, cancel }: InterruptOptions) {
    const cut = turns
    const [playing] = cut
    const run = current?.run.isOpen ? current.run : undefined
    turns = []
    isPaused = false
    wait.cancel()
    const silenced = silence(cut)
    if (playing) {
      outlet.tell({ type: 'voice_hush', turn: playing.number })
      // What it has never heard of tells nothing.
      const isKnown = stoppedAt && stoppedAt.turn <= count.turns
      if (isKnown) playing.speaker.played(positionIn(playing, stoppedAt))
      else if (!stoppedAt && !playing.speaker.playhead.isGuessed) await clientAnswers(playing)
      playing.speaker.playhead.pause()
    }
    await record(cut, 'interrupted')
    await silenced
    // It may be over by now, and the next one is not meant.
    if (cancel && run?.isOpen) await thread.stop('interrupted by the listener').catch(onError)
  }

  async function clientAnswers(turn: Turn) {
    const answered = new AbortController()
    stopping = { turn, answered }
    await sleep(answerMs, { clock, signal: answered.signal })
    stopping = undefined
  }

  function hold(isHeld: boolean) {
    const [playing] = turns
    if (!playing || isPaused === isHeld) return
    isPaused = isHeld
    playing.speaker.playhead[isHeld ? 'pause' : 'resume']()
    outlet.tell({ type: isHeld ? 'voice_pause' : 'voice_resume', turn: playing.number })
  }

  function close() {
    closing.abort()
    wait.cancel()
    for (const { speaker } of turns) {
      speaker.playhead.pause()
      speaker.silence()
    }
    return inherited ? [inherited, ...turns] : turns
  }

  const wait = filler({
    ...options,
    isQuiet: () => turns.every(({ speaker }) => speaker.isIdle && speaker.playhead.ahead === 0),
    say(speech) {
      const origins = Array.from({ length: speech.length + 1 }, () => 0)
      say({ sentence: { source: '', speech, origins }, waitedFor: 'tool' })
    },
  })

  /** Follows the log, and does what it says. */
  async function follow(log: Reading, options: FollowOptions, goesOn = () => true) {
    for await (const entry of thread.follow(options)) {
      recorder.note(entry.event)
      for (const step of log.take(entry, clock.now())) act(step)
      if (!goesOn()) return
    }
  }

  async function read() {
    const { head, status } = await thread.info()
    // Behind the head it means another thread, which is gone; this one only has its name.
    const from = options.from && options.from.seq <= head ? options.from : undefined
    // A client that comes back has shown nothing since.
    const shownUpTo = from?.seq ?? head
    const after = !from && status === 'idle' ? head : await startOfRun(thread, shownUpTo)
    log = reading({ splitting: options.sentences, shownUpTo, from })
    await follow(log, { after, signal: closing.signal })
    if (!closing.signal.aborted) outlet.over?.()
  }

  read().catch((error: unknown) => {
    if (closing.signal.aborted) return
    const { message } = publicError(error, onError)
    outlet.tell({ type: 'voice_error', message })
  })

  return {
    get isSpeaking() {
      return turns.some(({ speaker }) => speaker.samples > 0 || !speaker.isIdle)
    },
    played(number, position) {
      const turn = [...turns, stopping?.turn].find((one) => one?.number === number)
      turn?.speaker.played(position)
      if (turn && turn === stopping?.turn) stopping.answered.abort()
    },
    pause: () => hold(true),
    resume: () => hold(false),
    interrupt,
    asked: (seq, at) => void askedAt.set(seq, at),
    close,
    leave() {
      close()
      for (const turn of turns) if (turn.speaker.samples > 0) tellRecord(turn, 'interrupted')
      turns = []
    },
    async lost() {
      const cut = turns
      const run = current?.run
      turns = []
      const silenced = silence(cut)
      await record(cut, 'lost')
      await silenced
      // What the run goes on to say, unless it answers something else, is not heard either.
      const isRest = () => current?.run === run && current?.isSilenced === true && run?.isOpen === true
      if (log && isRest()) await follow(log, { after: log.head }, isRest).catch(onError)
    },
  }
}

const lastRound = ({ rounds }: SpokenRun) => Math.max(0, ...rounds.keys())

/** How far a client is in a turn when it has stopped in that one, or in another: it has got to the end of those before it. */
function positionIn({ number, speaker }: Turn, { turn, position }: Stop): number {
  if (turn === number) return position
  return turn > number ? speaker.samples : 0
}
