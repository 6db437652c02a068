import { parseArgs } from 'node:util'
import { Misuse } from '../runner/command.ts'
import type { Mode, Scene } from './size.ts'
import { scenes } from './size.ts'

export interface Options {
  readonly mode: Mode
  readonly scenes: readonly Scene[]
  readonly profile: boolean
  /** Whether results go where they are committed. */
  readonly save: boolean
}

const names = scenes.map(({ name }) => name)

export const help = `npm run bench:load -- [options]

  --quick        10 s of each scene instead of a minute
  --tiny         only to see that everything works: nothing is to be read from its figures
  --scene a,b    only these: ${names.join(', ')}
  --profile      leave a profile of the server's CPU in bench/.cache/
  --save         write results where they are committed, also those of a part or of a quick run
  --help         this
`

/** Undefined when only help was asked for. */
export function readOptions(args: readonly string[]): Options | undefined {
  const { quick, tiny, scene, profile = false, save, help: asked } = parse(args)
  if (asked) return undefined
  const isPart = Boolean(quick || tiny || scene || profile)
  return {
    mode: tiny ? 'tiny' : quick ? 'quick' : 'full',
    scenes: scene === undefined ? scenes : scene.split(',').map(sceneOf),
    profile,
    save: save ?? !isPart,
  }
}

function parse(args: readonly string[]) {
  const flag = { type: 'boolean' } as const
  const options = {
    quick: flag,
    tiny: flag,
    profile: flag,
    save: flag,
    help: flag,
    scene: { type: 'string' },
  } as const
  try {
    return parseArgs({ args: [...args], options }).values
  } catch (error) {
    throw new Misuse(error instanceof Error ? error.message : String(error))
  }
}

function sceneOf(name: string): Scene {
  const found = scenes.find((scene) => scene.name === name)
  if (!found) throw new Misuse(`--scene: there is no "${name}", but there are ${names.join(', ')}`)
  return found
}
