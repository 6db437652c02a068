import type { AudioFrame, VoiceCommand, VoiceEvent, VoicePosition } from '../protocol/index.ts'
import { systemClock } from '../protocol/index.ts'
import type { Played, Player } from './player.ts'
import type { VoiceSentence } from './voice-options.ts'
import type { Turn } from './voice-turn.ts'
import {
  dropSentencesFrom,
  firstUnheardPosition,
  isFinished,
  lastSentenceStarted,
  newlyStartedSentences,
  newTurn,
  notePlayed,
  resumePosition,
} from './voice-turn.ts'

export interface PlaybackOptions {
  readonly player: Player
  /** Where to start. */
  readonly from: VoicePosition | undefined
  readonly onSentence: ((sentence: VoiceSentence) => void) | undefined
}

/** Plays the speech that the server sends, and reports the position. */
export interface Playback {
  /** Called with the head of the log, before anything is spoken. */
  start(head: number): void
  /** Continues over a new connection: `send` sends a command over it. */
  connected(send: (command: VoiceCommand) => void): void
  /**
   * The connection was lost. Returns where to resume; undefined if the user interrupted the rest.
   */
  disconnected(): VoicePosition | undefined
  /** Where another line should continue, once this one plays nothing more. */
  position(): VoicePosition | undefined
  handleEvent(event: VoiceEvent): void
  /** The record of a run has arrived. */
  recorded(run: string): void
  playFrame(frame: AudioFrame): void
  /** Called with the position of the player. */
  played(played: Played): void
  interrupt(): void
}

/** The time between two position reports. */
const reportMs = 200
/**
 * A player that has been idle for this long waits for the model or a tool, not for the rest of a
 * sentence.
 */
const stalledMs = 500

export function playback({ player, onSentence, ...options }: PlaybackOptions): Playback {
  /** The turns that may still be played, and the last one, in the order of their clips. */
  let turns: Turn[] = []
  /** The turns of this connection, by the server's numbers. */
  const current = new Map<number, Turn>()
  let send: (command: VoiceCommand) => void = () => {}
  let clips = 0
  let reportedAt = -reportMs
  /** Since when the player is idle; undefined if it is not. */
  let idleSince: number | undefined = systemClock.now()
  /** Where the current connection started. */
  let { from } = options

  /** The server only knows the turns of the current connection. */
  function isKnown(turn: Turn) {
    return current.get(turn.number) === turn
  }

  function report(turn: Turn) {
    if (!isKnown(turn)) return
    reportedAt = systemClock.now()
    turn.reported = turn.played
    send({ type: 'voice_played', turn: turn.number, position: turn.played })
  }

  const isDone = (turn: Turn) => isFinished(turn, idleSince !== undefined)

  function played(progress: Played) {
    const now = systemClock.now()
    if (progress.idle) idleSince ??= now
    for (const turn of turns) {
      if (turn.isSilenced || turn.clip > progress.clip) continue
      notePlayed(turn, progress)
      for (const sentence of newlyStartedSentences(turn)) onSentence?.(sentence)
      const isDue = now - reportedAt >= reportMs || progress.idle || isDone(turn)
      if (isDue && turn.played !== turn.reported) report(turn)
    }
    const last = turns.at(-1)
    turns = turns.filter((turn) => turn === last || (turn.clip >= progress.clip && !isDone(turn)))
    for (const [number, turn] of current) if (!turns.includes(turn)) current.delete(number)
  }

  /** Drops the rest of a turn. Resolves once its final position is known. */
  async function silence(turn: Turn) {
    turn.isSilenced = true
    const dropped = player.drop(turn.clip, 0)
    // The next turn must not stay paused.
    player.resume()
    const progress = await dropped
    if (progress.idle) idleSince ??= systemClock.now()
    notePlayed(turn, progress)
  }

  async function retract(turn: Turn, position: number) {
    dropSentencesFrom(turn, position)
    played(await player.drop(turn.clip, position))
  }

  async function pause(turn: Turn) {
    notePlayed(turn, await player.pause())
    report(turn)
  }

  function handleEvent(event: VoiceEvent) {
    if (event.type === 'voice_turn') {
      const turn = newTurn(++clips, event, from)
      turns.push(turn)
      current.set(turn.number, turn)
    }
    const turn = 'turn' in event && event.turn !== undefined ? current.get(event.turn) : undefined
    if (!turn) return
    switch (event.type) {
      case 'voice_sentence':
        return void turn.sentences.push(event)
      case 'voice_end':
        turn.samples = event.samples
        if (isDone(turn)) report(turn)
        return
      case 'voice_pause':
        return void pause(turn)
      case 'voice_resume':
        return player.resume()
      case 'voice_silence':
        return void silence(turn).then(() => report(turn))
      case 'voice_retract':
        return void retract(turn, event.position)
    }
  }

  return {
    start(head) {
      // If the connection is lost before the first turn, resume from here and miss nothing.
      if (turns.length === 0) from ??= { seq: Math.max(1, head), round: 1, chars: 0 }
    },

    connected(next) {
      send = next
      player.resume()
    },

    disconnected() {
      send = () => {}
      current.clear()
      const turn = turns.at(-1)
      if (!turn) return from
      from = undefined
      if (turn.isSilenced) return undefined
      const isStalled = idleSince !== undefined && systemClock.now() - idleSince >= stalledMs
      const isComplete = turn.samples !== undefined || (isStalled && lastSentenceStarted(turn))
      from = resumePosition(turn, isComplete)
      const last = turn.sentences.at(-1)
      // A partial sentence is dropped. The next connection speaks it from the start.
      if (last && !isComplete) void retract(turn, last.position)
      return turn.isRecorded ? from : { ...from, awaits: turn.run }
    },

    position() {
      const turn = turns.find((one) => !isDone(one)) ?? turns.at(-1)
      if (!turn) return from
      return turn.isSilenced ? undefined : firstUnheardPosition(turn, idleSince !== undefined)
    },

    handleEvent,

    recorded(run) {
      for (const turn of turns) if (turn.run === run) turn.isRecorded = true
    },

    playFrame({ turn: number, position, pcm }) {
      const turn = current.get(number)
      if (!turn || turn.isSilenced) return
      idleSince = undefined
      player.play({ clip: turn.clip, position, pcm })
    },

    played,

    interrupt() {
      const open = turns.filter((turn) => !isDone(turn))
      void Promise.all(open.map(silence)).then(() => {
        // The server does not know the turns of an earlier connection.
        const first = open.find(isKnown)
        if (first) send({ type: 'voice_interrupt', turn: first.number, position: first.played })
      })
    },
  }
}
