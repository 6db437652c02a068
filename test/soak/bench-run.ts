import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { plainEnv, run } from '../processes.ts'
import { root } from '../root.ts'

/** Runs the benchmark as a user does. */
export const bench = (...args: string[]) =>
  run(process.execPath, ['bench/main.ts', ...args], { cwd: root, env: plainEnv() })

/** The unsaved results of the last run of a part. */
export const resultsOf = (part: string) =>
  JSON.parse(readFileSync(join(root, `bench/.cache/${part}.json`), 'utf8'))
