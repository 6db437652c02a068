import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** Packages that run wherever there is `fetch`. */
const portable = new Set(['@cfworker/json-schema'])

/** What a file needs before it can be loaded: not types, nor what it loads later. */
const needed = /^(?:import|export)(?! type\b)[^'"(]*? from '([^']+)'|^import '([^']+)'/gm

test('what answers requests is loaded without Node and without sockets', () => {
  const met = new Set([new URL('./index.ts', import.meta.url).href])
  const foreign: string[] = []
  for (const file of met) {
    for (const [, from, alone] of readFileSync(new URL(file), 'utf8').matchAll(needed)) {
      const specifier = from ?? alone ?? ''
      if (specifier.startsWith('.')) met.add(new URL(specifier, file).href)
      else if (!portable.has(specifier)) foreign.push(`${file} imports ${specifier}`)
    }
  }
  expect(met.size).toBeGreaterThan(50)
  expect(foreign).toEqual([])
})
