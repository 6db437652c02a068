import { describe, expect, test } from 'vitest'
import { closest } from './closest.ts'

const names = ['get_weather', 'search_orders', 'refund', 'send_email']

describe('a name that a model misremembers', () => {
  test.each([
    ['getWeather', 'get_weather'],
    ['get-weather', 'get_weather'],
    ['GET_WEATHER', 'get_weather'],
    ['get_wether', 'get_weather'],
    ['weather', 'get_weather'],
    ['search_order', 'search_orders'],
    ['order_search', undefined],
    ['refunds', 'refund'],
    ['sendEmail', 'send_email'],
    ['delete_everything_now', undefined],
    ['x', undefined],
  ])('%s is closest to %s', (wanted, found) => {
    expect(closest(wanted, names)).toBe(found)
  })

  test('the closest name wins, and the first one on a tie', () => {
    expect(closest('read_file', ['read_files_now', 'read_fole', 'read_fule'])).toBe('read_fole')
    expect(closest('read_file', ['read_fule', 'read_fole'])).toBe('read_fule')
    expect(closest('read_file', ['read_fule', 'READ-FILE'])).toBe('READ-FILE')
  })

  test('no names: no suggestion', () => {
    expect(closest('anything', [])).toBeUndefined()
  })

  test('a very long name matches nothing', () => {
    expect(closest('a'.repeat(1_000_000), ['refund'])).toBeUndefined()
  })

  test('a name without letters matches nothing', () => {
    expect(closest('', ['refund'])).toBeUndefined()
    expect(closest('天気予報', ['refund'])).toBeUndefined()
  })
})
