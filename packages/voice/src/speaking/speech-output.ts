import type { FollowOptions, Thread } from 'millrace'
import type { TurnRecord, VoicePosition } from 'millrace/internal'
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
import { playedPositionOf, recordOf } from './turn.ts'

export interface SpeechOutputOptions extends VoiceSettings {
  readonly thread: Thread
  readonly outlet: VoiceOutlet
  readonly sampleRate: number
  /**
   * Shared by all outputs of a connection. Numbers are never reused when speech is switched off and
   * on, since a report about an old turn may still arrive.
   */
  readonly counters: { turns: number; frames: number }
  /** Where a reconnecting client stopped. */
  readonly from?: VoicePosition | undefined
  /** Turns that were not played to the end over the previous connection. */
  readonly unfinishedTurns: readonly Turn[]
  /** Sends the record of a turn to the client. */
  readonly sendRecord: (record: TurnRecord) => void
}

/** Speaks a thread to one client, as a queue of turns. */
export interface SpeechOutput {
  /** The client has audio left to play. */
  readonly isSpeaking: boolean
  played(turn: number, position: number): void
  pause(): void
  resume(): void
  /**
   * Stops speaking and writes to the log how far the answer was played. `stoppedAt` is set if the
   * client has already stopped, and where. With `cancel` the run is stopped too. Never rejects.
   */
  interrupt(options: InterruptOptions): Promise<void>
  /** Sets the start time for the run that answers this input. */
  messageSpoken(seq: number, at: number): void
  /**
   * Stops speaking and returns the turns that were not played to the end. How far they were played
   * is recorded only by `abandon`.
   */
  close(): readonly Turn[]
  /** The client switched speech off: the rest counts as read. */
  switchOff(): void
  /** The client did not reconnect: records what it had played before `close`. */
  abandon(): Promise<void>
}

interface Stop {
  readonly turn: number
  readonly position: number
}

interface InterruptOptions {
  readonly stoppedAt?: Stop | undefined
  readonly cancel: boolean
}

interface CurrentRun {
  readonly run: SpokenRun
  /** Its current turn, if any. */
  turn: Turn | undefined
  /** Playback of the rounds up to this one is recorded, or belongs to an earlier turn. */
  settled: number
  /** The rest is not spoken, unless it answers a new input. */
  isSilenced: boolean
}

/** How long a client may take to report where it stopped. */
const stopReportMs = 250

export function openSpeechOutput(options: SpeechOutputOptions): SpeechOutput {
  const { thread, outlet, sampleRate, counters, clock, onRecord, onError } = options
  const closing = new AbortController()
  const recorder = playbackRecorder(options)
  let log: Reading | undefined
  let current: CurrentRun | undefined
  /** The first one is playing. */
  let turns: Turn[] = []
  /**
   * The unfinished turn of the run that the client is waiting for, until it is spoken again here.
   */
  let unfinished = options.unfinishedTurns.findLast(({ run }) => run.id === options.from?.awaits)
  /** When the user finished speaking, by input number. */
  const spokenAt = new Map<number, number>()
  /** The turn that the client was asked to stop, until it reports its position. */
  let stopping: { readonly turn: Turn; readonly reported: AbortController } | undefined
  let isPaused = false

  function startTurn({ run, settled }: CurrentRun): Turn {
    const number = ++counters.turns
    const speaker = startSpeaker({
      ...options,
      turn: number,
      nextSeq: () => counters.frames++,
      after: turns.at(-1)?.speaker.done ?? Promise.resolve(),
      onFailed(error, text) {
        // The details are for the operator, not for the client.
        outlet.send({ type: 'voice_error', turn: number, text, message: 'this sentence could not be spoken' })
        onError(error)
      },
    })
    const asked = run.inputs.map((input) => spokenAt.get(input)).find((at) => at !== undefined)
    const turn: Turn = {
      number,
      run,
      after: settled,
      speaker,
      since: asked === undefined ? 'run' : 'speech',
      startedAt: asked ?? run.startedAt,
      firstSentenceAt: undefined,
    }
    if (unfinished?.run.id === run.id) unfinished = undefined
    outlet.send({ type: 'voice_turn', turn: number, run: run.id, seq: run.seq })
    turns.push(turn)
    void speaker.done.then(() => turnFinished(turn))
    return turn
  }

  function say(utterance: Utterance) {
    if (!current || current.isSilenced) return
    current.turn ??= startTurn(current)
    if (utterance.textPosition) current.turn.firstSentenceAt ??= clock.now()
    current.turn.speaker.say(utterance)
  }

  /** Called when the client has played the whole turn. */
  function turnFinished(turn: Turn) {
    if (closing.signal.aborted || !turns.includes(turn)) return
    turns = turns.filter((one) => one !== turn)
    report(turn, 'completed')
    if (turn.run.isResumed) void recorder.recordAllPlayed(turn.run, turn.after)
  }

  /** The turn had arrived completely before the disconnect, so only its record is missing. */
  function finishUnfinished({ id }: SpokenRun) {
    if (closing.signal.aborted || unfinished?.run.id !== id) return
    unfinished.speaker.played(unfinished.speaker.samples)
    report(unfinished, 'completed')
    unfinished = undefined
  }

  function report(turn: Turn, outcome: TurnRecord['outcome']) {
    const record = recordOf(turn, outcome, sampleRate)
    options.sendRecord(record)
    onRecord(record, thread.id)
  }

  function handleStep(step: ReadingStep) {
    if (step.type === 'run') {
      const { run } = step
      for (const input of spokenAt.keys()) if (input < Math.min(...run.inputs)) spokenAt.delete(input)
      current = { run, turn: undefined, settled: 0, isSilenced: false }
    }
    if (!current) return
    switch (step.type) {
      case 'utterance':
        return say(step.utterance)
      case 'inputs':
        // The round answers a new input, so it is spoken again.
        if (current.isSilenced) Object.assign(current, { isSilenced: false, settled: step.round - 1 })
        return
      case 'retract':
        current.settled = Math.min(current.settled, step.round - 1)
        for (const { run, speaker } of turns) if (run === current.run) speaker.retract(step.round)
        return
      case 'calls':
        return current.isSilenced ? undefined : waitFiller.callsChanged(step.running, step.name)
      case 'interrupt':
        return turns.length > 0 ? void interrupt({ cancel: false }) : undefined
      case 'round-end':
        return settleSilenced(current)
      case 'run-end':
        waitFiller.cancel()
        settleSilenced(current)
        if (step.outcome === 'canceled' && current.turn) void interrupt({ cancel: false })
        if (!current.turn) finishUnfinished(current.run)
        current.turn?.speaker.end()
        // If the run resumes after an approval, that is another turn.
        Object.assign(current, { turn: undefined, settled: lastRound(current.run) })
    }
  }

  /** Records that the later rounds of a silenced run were not played. */
  function settleSilenced(current: CurrentRun) {
    if (!current.isSilenced) return
    void recorder.recordPlayed(current.run, current.settled)
    current.settled = lastRound(current.run)
  }

  /** Silences these turns and the rest of the current run. */
  async function silence(cut: readonly Turn[]) {
    for (const { speaker } of cut) speaker.silence()
    if (!current?.run.isOpen || current.isSilenced) return
    const { run, settled } = current
    Object.assign(current, { turn: undefined, settled: lastRound(run), isSilenced: true })
    // Nothing of the run was spoken yet.
    if (cut.every((turn) => turn.run !== run)) await recorder.recordPlayed(run, settled, run.known)
  }

  async function record(cut: readonly Turn[], outcome: TurnRecord['outcome']) {
    for (const turn of cut) {
      await recorder.recordPlayed(turn.run, turn.after, playedPositionOf(turn, sampleRate))
      report(turn, outcome)
    }
  }

  async function interrupt({ stoppedAt, cancel }: InterruptOptions) {
    const cut = turns
    const [playing] = cut
    const run = current?.run.isOpen ? current.run : undefined
    turns = []
    isPaused = false
    waitFiller.cancel()
    const silenced = silence(cut)
    if (playing) {
      outlet.send({ type: 'voice_silence', turn: playing.number })
      // Ignore a turn that was never started.
      const isKnown = stoppedAt && stoppedAt.turn <= counters.turns
      if (isKnown) playing.speaker.played(stopPosition(playing, stoppedAt))
      else if (!stoppedAt && !playing.speaker.playhead.isEstimated) await waitForReport(playing)
      playing.speaker.playhead.pause()
    }
    await record(cut, 'interrupted')
    await silenced
    // The run may have ended by now, and the next one must not be stopped.
    if (cancel && run?.isOpen) await thread.stop('interrupted by the listener').catch(onError)
  }

  async function waitForReport(turn: Turn) {
    const reported = new AbortController()
    stopping = { turn, reported }
    await sleep(stopReportMs, { clock, signal: reported.signal })
    stopping = undefined
  }

  function setPaused(pausing: boolean) {
    const [playing] = turns
    if (!playing || isPaused === pausing) return
    isPaused = pausing
    playing.speaker.playhead[pausing ? 'pause' : 'resume']()
    outlet.send({ type: pausing ? 'voice_pause' : 'voice_resume', turn: playing.number })
  }

  function close() {
    closing.abort()
    waitFiller.cancel()
    for (const { speaker } of turns) {
      speaker.playhead.pause()
      speaker.silence()
    }
    return unfinished ? [unfinished, ...turns] : turns
  }

  const waitFiller = filler({
    ...options,
    isQuiet: () => turns.every(({ speaker }) => speaker.isIdle && speaker.playhead.ahead === 0),
    say(speech) {
      const origins = Array.from({ length: speech.length + 1 }, () => 0)
      say({ sentence: { source: '', speech, origins }, waitedFor: 'tool' })
    },
  })

  async function follow(log: Reading, options: FollowOptions, shouldContinue = () => true) {
    for await (const entry of thread.follow(options)) {
      recorder.observe(entry.event)
      for (const step of log.take(entry, clock.now())) handleStep(step)
      if (!shouldContinue()) return
    }
  }

  async function read() {
    const { head, status } = await thread.info()
    // A position past the head belongs to a deleted thread with the same id.
    const from = options.from && options.from.seq <= head ? options.from : undefined
    // A reconnecting client has not displayed anything since.
    const shownUpTo = from?.seq ?? head
    const after = !from && status === 'idle' ? head : await startOfRun(thread, shownUpTo)
    log = reading({ sentenceOptions: options.sentences, shownUpTo, from })
    await follow(log, { after, signal: closing.signal })
    if (!closing.signal.aborted) outlet.threadEnded?.()
  }

  read().catch((error: unknown) => {
    if (closing.signal.aborted) return
    const { message } = publicError(error, onError)
    outlet.send({ type: 'voice_error', message })
  })

  return {
    get isSpeaking() {
      return turns.some(({ speaker }) => speaker.samples > 0 || !speaker.isIdle)
    },
    played(number, position) {
      const turn = [...turns, stopping?.turn].find((one) => one?.number === number)
      turn?.speaker.played(position)
      if (turn && turn === stopping?.turn) stopping.reported.abort()
    },
    pause: () => setPaused(true),
    resume: () => setPaused(false),
    interrupt,
    messageSpoken: (seq, at) => void spokenAt.set(seq, at),
    close,
    switchOff() {
      close()
      for (const turn of turns) if (turn.speaker.samples > 0) report(turn, 'interrupted')
      turns = []
    },
    async abandon() {
      const cut = turns
      const run = current?.run
      turns = []
      const silenced = silence(cut)
      await record(cut, 'lost')
      await silenced
      // The rest of the run is not played either, unless it answers a new input.
      const isRest = () => current?.run === run && current?.isSilenced === true && run?.isOpen === true
      if (log && isRest()) await follow(log, { after: log.head }, isRest).catch(onError)
    },
  }
}

const lastRound = ({ rounds }: SpokenRun) => Math.max(0, ...rounds.keys())

/**
 * The position in a turn if the client stopped in it or in another one: earlier turns were played
 * completely.
 */
function stopPosition({ number, speaker }: Turn, { turn, position }: Stop): number {
  if (turn === number) return position
  return turn > number ? speaker.samples : 0
}
