import type { AudioFrame, VoiceCommand, VoiceEvent, VoicePlace } from '../protocol/index.ts'
import { systemClock } from '../protocol/index.ts'
import type { Played, Player } from './player.ts'
import type { VoiceSentence } from './voice-options.ts'
import type { Turn } from './voice-turn.ts'
import {
  begunSentences,
  isOver,
  lastHasBegun,
  newTurn,
  notePlayed,
  placeOf,
  takeBack,
  unheardPlace,
} from './voice-turn.ts'

export interface PlaybackOptions {
  readonly player: Player
  /** Where it begins. */
  readonly from: VoicePlace | undefined
  readonly onSentence: ((sentence: VoiceSentence) => void) | undefined
}

/** What the server says, as it is heard. */
export interface Playback {
  /** The log is so long before anything is said. */
  begin(head: number): void
  /** Goes on over a new connection: `tell` reaches its server. */
  connected(tell: (command: VoiceCommand) => void): void
  /** The connection is lost. Gives where the next one is to go on; undefined where nobody wants to hear the rest. */
  lost(): VoicePlace | undefined
  /** Where another line is to go on, when nothing more is played here. */
  left(): VoicePlace | undefined
  obey(event: VoiceEvent): void
  /** It was told how the turns of a run went. */
  recorded(run: string): void
  take(frame: AudioFrame): void
  /** The player tells how far it is. */
  played(played: Played): void
  interrupt(): void
}

/** Between two reports of how far it is. */
const reportMs = 200
/** A player that has had nothing to play for so long waits for the model or a tool, not for the end of a sentence. */
const stalledMs = 500

export function playback({ player, onSentence, ...options }: PlaybackOptions): Playback {
  /** Those that may still be heard, and the last one, in the order of their clips. */
  let turns: Turn[] = []
  /** Those of this connection, by the server's numbers. */
  const current = new Map<number, Turn>()
  let tell: (command: VoiceCommand) => void = () => {}
  let clips = 0
  let reportedAt = -reportMs
  /** Since when there is nothing to play; undefined if there is something. */
  let idleSince: number | undefined = systemClock.now()
  /** Where the connection began that is there now. */
  let { from } = options

  /** A server knows the turns of its own connection only. */
  function isKnown(turn: Turn) {
    return current.get(turn.number) === turn
  }

  function report(turn: Turn) {
    if (!isKnown(turn)) return
    reportedAt = systemClock.now()
    turn.reported = turn.played
    tell({ type: 'voice_played', turn: turn.number, position: turn.played })
  }

  const isDone = (turn: Turn) => isOver(turn, idleSince !== undefined)

  function played(progress: Played) {
    const now = systemClock.now()
    if (progress.idle) idleSince ??= now
    for (const turn of turns) {
      if (turn.hushed || turn.clip > progress.clip) continue
      notePlayed(turn, progress)
      for (const sentence of begunSentences(turn)) onSentence?.(sentence)
      const isDue = now - reportedAt >= reportMs || progress.idle || isDone(turn)
      if (isDue && turn.played !== turn.reported) report(turn)
    }
    const last = turns.at(-1)
    turns = turns.filter((turn) => turn === last || (turn.clip >= progress.clip && !isDone(turn)))
    for (const [number, turn] of current) if (!turns.includes(turn)) current.delete(number)
  }

  /** Nothing more of it is heard. Resolves when it is known how far it was. */
  async function hush(turn: Turn) {
    turn.hushed = true
    const dropped = player.drop(turn.clip, 0)
    // If it was paused, the next one is not.
    player.resume()
    const progress = await dropped
    if (progress.idle) idleSince ??= systemClock.now()
    notePlayed(turn, progress)
  }

  async function retract(turn: Turn, position: number) {
    takeBack(turn, position)
    played(await player.drop(turn.clip, position))
  }

  async function pause(turn: Turn) {
    notePlayed(turn, await player.pause())
    report(turn)
  }

  function obey(event: VoiceEvent) {
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
      case 'voice_hush':
        return void hush(turn).then(() => report(turn))
      case 'voice_retract':
        return void retract(turn, event.position)
    }
  }

  return {
    begin(head) {
      // Whoever comes back before anything was said has missed what was written since.
      if (turns.length === 0) from ??= { seq: Math.max(1, head), round: 1, chars: 0 }
    },

    connected(next) {
      tell = next
      player.resume()
    },

    lost() {
      tell = () => {}
      current.clear()
      const turn = turns.at(-1)
      if (!turn) return from
      from = undefined
      if (turn.hushed) return undefined
      const isStalled = idleSince !== undefined && systemClock.now() - idleSince >= stalledMs
      const isWhole = turn.samples !== undefined || (isStalled && lastHasBegun(turn))
      from = placeOf(turn, isWhole)
      const last = turn.sentences.at(-1)
      // Half a sentence is of no use: it is said again, from its beginning.
      if (last && !isWhole) void retract(turn, last.position)
      return turn.isRecorded ? from : { ...from, awaits: turn.run }
    },

    left() {
      const turn = turns.find((one) => !isDone(one)) ?? turns.at(-1)
      if (!turn) return from
      return turn.hushed ? undefined : unheardPlace(turn, idleSince !== undefined)
    },

    obey,

    recorded(run) {
      for (const turn of turns) if (turn.run === run) turn.isRecorded = true
    },

    take({ turn: number, position, pcm }) {
      const turn = current.get(number)
      if (!turn || turn.hushed) return
      idleSince = undefined
      player.play({ clip: turn.clip, position, pcm })
    },

    played,

    interrupt() {
      const open = turns.filter((turn) => !isDone(turn))
      void Promise.all(open.map(hush)).then(() => {
        // What is left of an earlier connection is none of this server's turns.
        const first = open.find(isKnown)
        if (first) tell({ type: 'voice_interrupt', turn: first.number, position: first.played })
      })
    },
  }
}
