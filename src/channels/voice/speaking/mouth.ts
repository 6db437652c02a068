import type { TurnRecord, VoicePlace } from '../../../protocol/index.ts'
import { sleep } from '../../../protocol/index.ts'
import type { Thread } from '../../../threads/index.ts'
import { publicError } from '../../public-error.ts'
import type { VoiceSettings } from '../options.ts'
import { filler } from './filler.ts'
import { heardKeeper } from './keeper.ts'
import { beginningOf, reading } from './reading.ts'
import type { Utterance } from './segment.ts'
import type { VoiceOutlet } from './speaker.ts'
import { speaker } from './speaker.ts'
import type { SpokenRun } from './spoken-run.ts'
import { beginRun } from './spoken-run.ts'
import type { Turn } from './turn.ts'
import { recordOf } from './turn.ts'

export interface MouthOptions extends VoiceSettings {
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

/** Speaks a thread to one client, run after run. */
export interface Mouth {
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

interface InterruptOptions {
  readonly stoppedAt?: { readonly turn: number; readonly position: number } | undefined
  readonly cancel: boolean
}

/** So long a client may take to say where it has stopped. */
const answerMs = 250

export function openMouth(options: MouthOptions): Mouth {
  const { thread, outlet, sampleRate, count, clock, onRecord, onError } = options
  let { from } = options
  const following = new AbortController()
  const keeper = heardKeeper(options)
  /** The first is the one that is being said. */
  let turns: Turn[] = []
  let run: SpokenRun | undefined
  /** The one that is still given sentences. */
  let current: Turn | undefined
  /** Of which nothing was said here, by their runs. */
  const inherited = new Map(
    options.inherited.filter(({ run }) => run === options.from?.awaits).map((turn) => [turn.run, turn]),
  )
  let lastDone: Promise<void> = Promise.resolve()
  const askedAt = new Map<number, number>()
  /** The one that the client was told to be quiet about, until it says where it has stopped. */
  let hushing: Turn | undefined
  let hearFromClient = () => {}
  let isPaused = false
  let readUpTo = 0
  let left: readonly Turn[] = []

  function turnOf(known: SpokenRun): Turn {
    if (current) return current
    const number = ++count.turns
    const { id, seq, since, startedAt, firstTokenAt, rounds, known: begins } = known
    inherited.delete(id)
    const voice = speaker({
      ...options,
      turn: number,
      nextSeq: () => count.frames++,
      after: lastDone,
      onFailed(error, text) {
        // Why is the affair of whoever runs the voice.
        outlet.tell({ type: 'voice_error', turn: number, text, message: 'this could not be spoken' })
        onError(error)
      },
    })
    const turn: Turn = {
      number,
      run: id,
      speaker: voice,
      since,
      startedAt,
      firstTokenAt,
      firstSentenceAt: undefined,
      rounds,
      from: begins,
      isBack: from?.seq === seq,
    }
    outlet.tell({ type: 'voice_turn', turn: number, run: id, seq })
    turns.push(turn)
    current = turn
    lastDone = voice.done.then(() => finished(turn))
    return turn
  }

  function say(utterance: Utterance) {
    if (!run || run.hushed) return
    const turn = turnOf(run)
    if (utterance.place) turn.firstSentenceAt ??= clock.now()
    turn.speaker.say(utterance)
  }

  /** The client has played all of it. */
  function finished(turn: Turn) {
    if (!turns.includes(turn)) return
    turns = turns.filter((one) => one !== turn)
    tellRecord(turn, 'completed')
    if (turn.isBack) keeper.whole(turn)
  }

  /** All of it had arrived when its connection was lost, so there is nothing to say of it but how it went. */
  function finishInherited(id: string) {
    const turn = inherited.get(id)
    if (!turn) return
    inherited.delete(id)
    turn.speaker.played(turn.speaker.samples)
    tellRecord(turn, 'completed')
  }

  function tellRecord(turn: Turn, outcome: 'completed' | 'interrupted' | 'lost') {
    const record = recordOf(turn, outcome, sampleRate)
    options.tell(record)
    onRecord(record, thread.id)
  }

  async function interrupt({ stoppedAt, cancel }: InterruptOptions) {
    const [playing] = turns
    const hushed = turns
    turns = []
    current = undefined
    isPaused = false
    waiting.cancel()
    const underWay = run?.isOpen ? run : undefined
    const isSilent = underWay && !underWay.hushed && hushed.every((turn) => turn.run !== underWay.id)
    if (underWay) underWay.hushed ??= new Set(underWay.rounds.keys())
    for (const turn of hushed) turn.speaker.hush()
    if (playing) {
      outlet.tell({ type: 'voice_hush', turn: playing.number })
      // What it has never heard of tells nothing.
      const isKnown = stoppedAt && stoppedAt.turn <= count.turns
      if (isKnown) playing.speaker.played(positionIn(playing, stoppedAt))
      else if (!stoppedAt && !playing.speaker.playhead.isGuessed) await clientAnswers(playing)
      playing.speaker.playhead.pause()
    }
    for (const turn of hushed) {
      await keeper.turn(turn, run)
      tellRecord(turn, 'interrupted')
    }
    // It has not come to say anything.
    if (isSilent) await keeper.silent(underWay)
    // It may be over by now, and the next one is not meant.
    if (!cancel || !underWay?.isOpen) return
    try {
      await thread.stop('interrupted by the listener')
    } catch (error) {
      onError(error)
    }
  }

  function close() {
    following.abort()
    waiting.cancel()
    left = turns
    turns = []
    for (const { speaker } of left) {
      speaker.playhead.pause()
      speaker.hush()
    }
    return [...inherited.values(), ...left]
  }

  async function clientAnswers(turn: Turn) {
    const answered = new AbortController()
    hushing = turn
    hearFromClient = () => answered.abort()
    await sleep(answerMs, { clock, signal: answered.signal })
    hushing = undefined
    hearFromClient = () => {}
  }

  const waiting = filler({
    ...options,
    isQuiet: () => turns.every(({ speaker }) => speaker.isIdle && speaker.playhead.ahead === 0),
    say(speech) {
      const origins = Array.from({ length: speech.length + 1 }, () => 0)
      say({ sentence: { source: '', speech, origins }, waitedFor: 'tool' })
    },
  })

  async function read() {
    const { head, status } = await thread.info()
    // The thread that it means is gone; this one only has its name.
    if (from && from.seq > head) from = undefined
    const after = from
      ? await beginningOf(thread, from.seq)
      : status === 'idle'
        ? head
        : await beginningOf(thread, head)
    const { take } = reading({
      splitting: options.sentences,
      // Whoever comes back has read nothing since.
      told: from?.seq ?? head,
      from,
      onRun({ run: id, seq, heard }) {
        current = undefined
        const asked = heard.map((input) => askedAt.get(input)).find((at) => at !== undefined)
        for (const input of heard) askedAt.delete(input)
        const since = asked === undefined ? 'run' : 'speech'
        run = beginRun({ id, seq, inputs: heard, since, startedAt: asked ?? clock.now() })
      },
      onResume() {
        if (run) run.isOpen = true
      },
      onRound(round, heard) {
        for (const input of heard) askedAt.delete(input)
        if (!run) return
        run.isOpen = true
        run.telling = round
        // It answers what was said since, so it is to be heard again.
        if (heard.length > 0 && run.hushed) {
          run.hushed = undefined
          run.rounds = new Map()
        }
        run.rounds.set(round, 0)
      },
      onWords(round, length) {
        if (!run) return
        run.firstTokenAt ??= clock.now()
        run.rounds.set(round, length)
      },
      onKnown(place) {
        if (run) run.known = place
      },
      onUtterance: say,
      onRoundEnd() {
        if (run) {
          keeper.hushed(run)
          run.telling = undefined
        }
      },
      onRetract(round) {
        run?.rounds.set(round, 0)
        run?.hushed?.delete(round)
        if (run?.known?.round === round) run.known = { round, chars: 0 }
        for (const turn of turns) if (turn.run === run?.id) turn.speaker.retract(round)
      },
      onCalls: (running, name) => waiting.calls(running, name),
      onInterrupted() {
        if (turns.length > 0) void interrupt({ cancel: false })
      },
      onHeard: keeper.note,
      onRunEnd(outcome) {
        waiting.cancel()
        if (run) {
          keeper.hushed(run)
          run.isOpen = false
        }
        if (outcome === 'cancelled' && current) void interrupt({ cancel: false })
        if (!current && run) finishInherited(run.id)
        current?.speaker.end()
        current = undefined
        // What it says when a person has decided is another turn.
        if (run && outcome === 'suspended') run.rounds = new Map()
      },
    })
    for await (const entry of thread.follow({ after, signal: following.signal })) {
      readUpTo = entry.seq
      take(entry)
    }
    if (!following.signal.aborted) outlet.over?.()
  }

  read().catch((error: unknown) => {
    if (following.signal.aborted) return
    const { message } = publicError(error, onError)
    outlet.tell({ type: 'voice_error', message })
  })

  return {
    get isSpeaking() {
      return turns.some(({ speaker }) => speaker.samples > 0 || !speaker.isIdle)
    },
    played(number, position) {
      if (hushing?.number === number) {
        hushing.speaker.played(position)
        hearFromClient()
      }
      turns.find((turn) => turn.number === number)?.speaker.played(position)
    },
    pause() {
      const [playing] = turns
      if (!playing || isPaused) return
      isPaused = true
      playing.speaker.playhead.pause()
      outlet.tell({ type: 'voice_pause', turn: playing.number })
    },
    resume() {
      const [playing] = turns
      if (!playing || !isPaused) return
      isPaused = false
      playing.speaker.playhead.resume()
      outlet.tell({ type: 'voice_resume', turn: playing.number })
    },
    interrupt,
    asked(seq, at) {
      if (!run?.inputs.includes(seq)) askedAt.set(seq, at)
      else if (!current) Object.assign(run, { since: 'speech', startedAt: at })
    },
    close,
    leave() {
      close()
      for (const turn of left) if (turn.speaker.samples > 0) tellRecord(turn, 'interrupted')
    },
    async lost() {
      for (const turn of left) {
        await keeper.turn(turn, run)
        tellRecord(turn, 'lost')
      }
      if (!run?.isOpen) return
      if (!run.hushed && left.every((turn) => turn.run !== run?.id)) await keeper.silent(run)
      await keeper.rest(run, readUpTo)
    },
  }
}

/** How far a client is in a turn when it has stopped in that one, or in another: it has got to the end of those before it. */
function positionIn(
  { number, speaker }: Turn,
  { turn, position }: { turn: number; position: number },
): number {
  if (turn === number) return position
  return turn > number ? speaker.samples : 0
}
