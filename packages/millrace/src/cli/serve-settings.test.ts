import { availableParallelism } from 'node:os'
import { describe, expect, test } from 'vitest'
import { serveSettings } from './serve-settings.ts'

const store = 'postgres://db/app'

describe('the settings of millrace serve', () => {
  test('have defaults for one process that does everything', () => {
    expect(serveSettings({}, { XDG_DATA_HOME: '/data' })).toMatchObject({
      port: 8787,
      host: '127.0.0.1',
      token: undefined,
      address: { kind: 'sqlite' },
      queue: undefined,
      role: 'both',
      processes: undefined,
    })
  })

  test('come from flags, and otherwise from the environment', () => {
    const env = {
      MILLRACE_STORE: store,
      MILLRACE_QUEUE: 'redis://cache',
      MILLRACE_ROLE: 'web',
      MILLRACE_PROCESSES: '4',
      MILLRACE_TOKEN: 'secret',
    }
    expect(serveSettings({}, env)).toMatchObject({
      address: { url: store },
      queue: { redis: 'redis://cache' },
      role: 'web',
      processes: 4,
      token: 'secret',
    })
    expect(serveSettings({ queue: store, role: 'worker', processes: 'auto' }, env)).toMatchObject({
      queue: { postgres: store },
      role: 'worker',
      processes: availableParallelism(),
    })
  })

  test.each([
    [{ 'keep-days': '0' }, "--keep-days must be a positive number, not '0'"],
    [{ 'keep-days': 'all' }, "--keep-days must be a positive number, not 'all'"],
    [{ role: 'boss' }, "--role must be web, worker or both, not 'boss'"],
    [{ processes: '0' }, "--processes must be auto or a whole number from 1 to 1024, not '0'"],
    [{ processes: '1.5' }, "not '1.5'"],
    [{ processes: '' }, "not ''"],
    [{ store, queue: 'amqp://x' }, '--queue must be redis://…, rediss://… or postgres://…, not amqp:'],
    [{ store, queue: 'cache' }, '--queue must be redis://…, rediss://… or postgres://…'],
    [{ queue: 'redis://cache' }, '--queue needs a PostgreSQL store, set with --store or MILLRACE_STORE'],
    [{ port: 'http' }, "--port must be a number from 0 to 65535, not 'http'"],
  ])('%j is rejected', (flags, message) => {
    expect(() => serveSettings(flags, { XDG_DATA_HOME: '/data' })).toThrow(message)
  })

  test('a bad variable is named', () => {
    expect(() => serveSettings({}, { MILLRACE_ROLE: 'boss' })).toThrow('MILLRACE_ROLE must be web')
    expect(() => serveSettings({}, { MILLRACE_QUEUE: 'redis://x' })).toThrow(
      'MILLRACE_QUEUE needs a PostgreSQL',
    )
  })
})
