import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

/** Packages that run in any runtime with `fetch`. */
const portable = new Set(['@cfworker/json-schema'])

/** The static imports of a file, without type imports. */
const needed = /^(?:import|export)(?! type\b)[^'"(]*? from '([^']+)'|^import '([^']+)'/gm

test('the request handler does not import Node modules', () => {
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
