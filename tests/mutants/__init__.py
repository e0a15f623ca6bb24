"""Wrong rules by topic, and the campaign that plants each and checks that the tests catch it."""
