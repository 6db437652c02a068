import type { WayConfig } from '../ways.ts'
import { openHub } from './hub.ts'

/** The hub with its commits in a worker thread. */
export const open = (config: WayConfig) => openHub(config, true)
