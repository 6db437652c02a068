import fc from 'fast-check'
import type { Access } from 'millrace'
import { describe, expect, test } from 'vitest'
import { sized } from '../../../../test/size.ts'
import { decide, fetch, read, run, write } from './permission.test-kit.ts'

const rule = fc.constantFrom(
  ...[
    'run',
    'read',
    'write',
    'fetch',
    '*',
    'shell',
    's*',
    'pay',
    'run(*)',
    'run(ls *)',
    'run(rm *)',
    'run(ls)',
  ],
  ...['read(**)', 'read(.env*)', 'write(src/**)', 'write(src)', 'read(/etc/*)', 'fetch(*.x.org)', 'fetch(*)'],
  ...['shell(ls *)', '*(src/**)', 'RUN(rm *)', 'pay(x)'],
)
const rules = fc.array(rule, { maxLength: 5 })
const flags = fc.record({ opaque: fc.boolean(), readOnly: fc.boolean(), also: fc.constantFrom([], ['rm x']) })
const access: fc.Arbitrary<Access> = fc.oneof(
  fc
    .tuple(fc.constantFrom('ls', 'ls -l', 'rm x', '/bin/rm x', 'RM x'), flags)
    .map(([line, more]) => run(line, more)),
  fc
    .tuple(fc.constantFrom('.', '.env', 'src/a', 'SRC/a', '/etc/x', '../x'), flags)
    .map(([path, { opaque }]) => read(path, { opaque })),
  fc.constantFrom('src', 'src/a', '.env').map((path) => write(path)),
  fc.constantFrom('x.org', 'a.x.org', 'a b').map((host) => fetch(host)),
)
const situation = fc.record({
  options: fc.record(
    {
      allow: rules,
      ask: rules,
      deny: rules,
      otherwise: fc.constantFrom('allow', 'ask', 'deny'),
      mode: fc.constant('read-only' as const),
    },
    { requiredKeys: ['allow', 'ask', 'deny'] },
  ),
  accesses: fc.option(fc.array(access, { maxLength: 3 }), { nil: undefined }),
  name: fc.constantFrom('shell', 'pay', 'read'),
  granted: rules,
})

const strictness = { allow: 0, ask: 1, deny: 2 }

describe('for any rules and calls', () => {
  const holds = <Case>(property: fc.IRawProperty<Case>) => fc.assert(property, { numRuns: sized(1000) })

  test('adding a deny or ask rule never allows more, and adding an allow rule never allows less', () => {
    holds(
      fc.property(situation, rule, ({ options, accesses, name, granted }, more) => {
        const before = strictness[decide(options, accesses, { name, granted }).decision]
        const changed = (more: object, grants = granted) =>
          strictness[decide({ ...options, ...more }, accesses, { name, granted: grants }).decision]
        expect(changed({ deny: [...options.deny, more] })).toBeGreaterThanOrEqual(before)
        // If everything else is denied, an ask rule is less strict, but never allows.
        expect(changed({ ask: [...options.ask, more] })).toBeGreaterThanOrEqual(
          Math.min(before, strictness.ask),
        )
        expect(changed({ allow: [...options.allow, more] })).toBeLessThanOrEqual(before)
        expect(changed({}, [...granted, more])).toBeLessThanOrEqual(before)
      }),
    )
  })

  test('order and duplicates of rules do not matter', () => {
    holds(
      fc.property(situation, ({ options, accesses, name, granted }) => {
        const { allow, ask, deny } = options
        const turned = {
          ...options,
          allow: allow.toReversed(),
          ask: [...ask, ...ask].toReversed(),
          deny: deny.toReversed(),
        }
        expect(decide(turned, accesses, { name, granted })).toEqual(
          decide(options, accesses, { name, granted }),
        )
      }),
    )
  })

  test('more accesses never lead to a milder decision', () => {
    holds(
      fc.property(situation, access, ({ options, accesses = [], name, granted }, more) => {
        fc.pre(accesses.length > 0)
        const before = decide(options, accesses, { name, granted })
        const after = decide(options, [...accesses, more], { name, granted })
        expect(strictness[after.decision]).toBeGreaterThanOrEqual(strictness[before.decision])
      }),
    )
  })

  test('remembered rules answer the same question', () => {
    holds(
      fc.property(situation, ({ options, accesses, name, granted }) => {
        const { decision, rules: remembered } = decide(options, accesses, { name, granted })
        fc.pre(decision === 'ask' && remembered !== undefined)
        const again = decide(options, accesses, { name, granted: [...granted, ...(remembered ?? [])] })
        expect(again.decision).toBe('allow')
      }),
    )
  })

  test('read-only mode allows nothing that makes changes', () => {
    holds(
      fc.property(situation, ({ options, accesses, name, granted }) => {
        const changes = accesses?.some(
          (access) =>
            access.kind === 'write' || (access.kind === 'run' && (access.opaque || !access.readOnly)),
        )
        const { decision } = decide({ ...options, mode: 'read-only' }, accesses, { name, granted })
        if (changes) expect(decision).toBe('deny')
      }),
    )
  })
})
