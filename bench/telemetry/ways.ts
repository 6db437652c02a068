import type { Wire } from '../contract.ts'
import type { WorkName } from './works.ts'

/** In which way a run is looked on at. */
export type WayName =
  | 'nobody'
  | 'otel'
  | 'by-hand'
  | 'json'
  | 'tenth'
  | 'without-chunks'
  | 'content'
  | 'no-sdk'
  | 'logs'

export interface Way {
  readonly name: WayName
  readonly title: string
  readonly wires: readonly Wire[]
  /** The only works for which it makes a difference, if not all. */
  readonly only?: WorkName
  /** Which of its traces are sent. Metrics always are, if any trace is. */
  readonly sends: 'all' | 'some' | 'nothing'
}

/** What the others are held against. */
export const base: WayName = 'nobody'

const everywhere: readonly Wire[] = ['chat', 'responses', 'messages']
/** Where all else costs least, so that this shows most. */
const once: readonly Wire[] = ['messages']

export const ways: readonly Way[] = [
  { name: 'nobody', title: 'nobody looks on', wires: everywhere, sends: 'nothing' },
  { name: 'otel', title: '`otel()`, all of it', wires: everywhere, sends: 'all' },
  { name: 'by-hand', title: 'floor: the same, by hand', wires: once, sends: 'all' },
  { name: 'json', title: '`otel()`, sent as JSON', wires: once, only: 'loop', sends: 'all' },
  { name: 'tenth', title: '`otel()`, one trace in ten', wires: once, only: 'loop', sends: 'some' },
  {
    name: 'without-chunks',
    title: '`otel()`, without the time between chunks',
    wires: once,
    only: 'text',
    sends: 'all',
  },
  { name: 'content', title: '`otel({ content: true })`', wires: once, sends: 'all' },
  { name: 'no-sdk', title: '`otel()`, no SDK registered', wires: once, sends: 'nothing' },
  { name: 'logs', title: '`logs(console)`', wires: once, sends: 'nothing' },
]
