import { capacity } from './capacity.ts'
import { crowd } from './crowd.ts'
import { idle } from './idle.ts'
import { reconnect } from './reconnect.ts'
import type { Scenario } from './scenario.ts'
import { slowDisk } from './slow-disk.ts'
import { steady } from './steady.ts'

/** In the order of the report. */
export const scenarios: readonly Scenario[] = [steady, capacity, crowd, reconnect, slowDisk, idle]
