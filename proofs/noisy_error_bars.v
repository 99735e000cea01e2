(** * How far off the noisy scores of the selected are

    Noise that helped an item to be selected is likely to be high. All noise here is discrete Laplace
    noise of rate a on the scores q of n items, of which c are selected (noisy_scores.v).

    - [noisy_draw a c q]: all noisy scores, and the selected items ([noisy_draw_released]: what is
      released is computed from it).

    Exported, for every q and every t >= 0, with P[X > t] = [laplace_tail a (t + 1)]:

    - [selected_noise_beyond]: at most (n + c) P[X > t] of the selected are expected to have noise
      beyond t, on either side.
    - [any_selected_noise_beyond]: that any of them has is at most as likely.

    Above t: n P[X > t] of all n items are expected there. Below -t: redraw the noise of one item and
    keep all the rest ([mean_redraw]). Whether the item is selected rises with its noise, so it goes
    no better than independently with noise that is small ([mean_low], Chebyshev's inequality); and
    the chances to be selected add up to c. *)

From Sparsegate Require Import prelude privacy sums programs laplace independent laplace_mechanism.
From Sparsegate Require Import noisy_scores noisy_selection.
Local Open Scope ring_scope.

Section Mean.
Context {R : realType} {T : choiceType}.
Implicit Types (mu : {distr T / R}) (f g h : T -> R).

Definition mean mu f : R := psum (fun x => mu x * f x).

Lemma summable_mean mu f : (forall x, 0 <= f x <= 1) -> summable (fun x => mu x * f x).
Proof.
move=> f01; apply: le_summable (summable_mu mu) => x; case/andP: (f01 x) => f0 f1.
by rewrite mulr_ge0 //= ler_pimulr.
Qed.

Lemma mean01 mu f : (forall x, 0 <= f x <= 1) -> 0 <= mean mu f <= 1.
Proof.
move=> f01; rewrite /mean ge0_psum /=; apply: le_trans (le1_mu mu).
apply: le_psum (summable_mu mu) => x; case/andP: (f01 x) => f0 f1.
by rewrite mulr_ge0 //= ler_pimulr.
Qed.

Lemma mean_le_add mu f g h : (forall x, 0 <= f x) -> (forall x, 0 <= g x <= 1) ->
  (forall x, 0 <= h x <= 1) -> (forall x, f x <= g x + h x) -> mean mu f <= mean mu g + mean mu h.
Proof.
move=> f0 g01 h01 le; rewrite /mean -psumD; last exact: summable_mean.
- apply: le_psum; last by apply: summableD; apply: summable_mean.
  by move=> x; rewrite mulr_ge0 //= -mulrDr ler_wpmul2l.
- by move=> x; rewrite mulr_ge0 //; case/andP: (g01 x).
- by move=> x; rewrite mulr_ge0 //; case/andP: (h01 x).
- exact: summable_mean.
Qed.

Lemma mean_cst mu (k : R) : psum mu = 1 -> 0 <= k -> mean mu (fun=> k) = k.
Proof. by move=> mu1 k0; rewrite /mean (eq_psum (F2 := k \*o mu)) ?psumZ ?mu1 ?mulr1 // => x; rewrite mulrC. Qed.

End Mean.

Section Pairs.
Context {R : realType} {T U : choiceType}.

Lemma mean_pair (mu : {distr T / R}) (nu : {distr U / R}) (F : T -> U -> R) :
  (forall x y, 0 <= F x y <= 1) ->
  psum (fun w : T * U => mu w.1 * nu w.2 * F w.1 w.2) = mean mu (fun x => mean nu (F x)).
Proof.
move=> F01; have E x : psum (fun y => mu x * nu y * F x y) = mu x * mean nu (F x).
  by rewrite -psumZ //; apply: eq_psum => y /=; rewrite mulrA.
have sx x : summable (fun y => mu x * nu y * F x y).
  apply: le_summable (summableZ (mu x) (summable_mu nu)) => y /=; case/andP: (F01 x y) => F0 F1.
  by rewrite !mulr_ge0 //= ler_pimulr // mulr_ge0.
rewrite psum_pair; first by apply: eq_psum => x; rewrite E.
apply: (summable_pairs (S := fun x y => mu x * nu y * F x y)) => //.
apply: le_summable (summable_mu mu) => x; rewrite E; case/andP: (mean01 nu (F01 x)) => m0 m1.
by rewrite mulr_ge0 //= ler_pimulr.
Qed.

End Pairs.

Section Resample.
Context {R : realType} {A : choiceType} {I : finType}.
Implicit Types (mu : I -> {distr A / R}) (y : {ffun I -> A}) (f : {ffun I -> A} -> R).

Definition redraw y i (z : A) : {ffun I -> A} := [ffun j => if j == i then z else y j].

Lemma redraw_swap mu y i z :
  independent mu y * mu i z = independent mu (redraw y i z) * mu i (y i).
Proof.
rewrite !independentE (bigD1 i) //= [in RHS](bigD1 i) //= ffunE eqxx mulrAC [RHS]mulrAC.
congr (_ * _); first by rewrite mulrC.
by apply: eq_bigr => j /negbTE ji; rewrite ffunE ji.
Qed.

Lemma mean_redraw mu i f : (forall j, psum (mu j) = 1) -> (forall y, 0 <= f y <= 1) ->
  mean (independent mu) f = mean (independent mu) (fun y => mean (mu i) (fun z => f (redraw y i z))).
Proof.
move=> mu1 f01; pose sw (w : {ffun I -> A} * A) := (redraw w.1 i w.2, w.1 i).
have swK : cancel sw sw.
  move=> [y z]; rewrite /sw /=; congr (_, _); last by rewrite ffunE eqxx.
  by apply/ffunP => j; rewrite !ffunE; case: eqP => // ->.
rewrite -(mean_pair _ _ (F := fun y z => f (redraw y i z))) //.
transitivity (mean (independent mu) (fun y => mean (mu i) (fun=> f y))).
  by apply: eq_psum => y; rewrite mean_cst //; case/andP: (f01 y).
rewrite -(mean_pair _ _ (F := fun y z => f y)) // (reindex_psum (P := predT) (h := sw)) //.
  by apply: eq_psum => w /=; rewrite -redraw_swap.
by exists sw => w _; apply: swK.
Qed.

End Resample.

Section Chebyshev.
Context {R : realType}.

(** What rises with z is no likelier to go with a small z. *)
Lemma mean_low (mu : {distr int / R}) (g : int -> R) (b : int) : psum mu = 1 ->
  (forall z, 0 <= g z <= 1) -> (forall z w, z <= w -> g z <= g w) ->
  mean mu (fun z => g z * (z < b)%R%:R) <= \P_[mu] (fun z : int => z < b) * mean mu g.
Proof.
move=> mu1 g01 up; pose low z : R := (z < b)%R%:R; pose high z : R := (b <= z)%R%:R.
have g0 z : 0 <= g z by case/andP: (g01 z).
have low01 z : 0 <= low z <= 1 by rewrite ler0n lern1 leq_b1.
have high01 z : 0 <= high z <= 1 by rewrite ler0n lern1 leq_b1.
have part01 (f h : int -> R) : (forall z, 0 <= f z <= 1) -> (forall z, 0 <= h z <= 1) ->
    forall z, 0 <= f z * h z <= 1.
  move=> f01 h01 z; case/andP: (h01 z) => h0 h1; case/andP: (f01 z) => f0 f1.
  by rewrite mulr_ge0 // mulr_ile1.
have one z : low z + high z = 1.
  by rewrite /low /high leNgt; case: (z < b); rewrite ?addr0 ?add0r.
have sum f : (forall z, 0 <= f z <= 1) ->
    mean mu f = mean mu (fun z => f z * low z) + mean mu (fun z => f z * high z).
  move=> f01; rewrite /mean -psumD.
  - by apply: eq_psum => z /=; rewrite -mulrDr -mulrDr one mulr1.
  - by move=> z; rewrite !mulr_ge0 //; [case/andP: (f01 z) | case/andP: (low01 z)].
  - by move=> z; rewrite !mulr_ge0 //; [case/andP: (f01 z) | case/andP: (high01 z)].
  - exact: summable_mean (part01 _ _ f01 low01).
  - exact: summable_mean (part01 _ _ f01 high01).
pose H := mean mu low; pose K := mean mu high.
have HE : \P_[mu] (fun z : int => z < b) = H by apply: eq_psum => z; rewrite mulrC.
have HK : H + K = 1.
  have -> : 1 = mean mu (fun=> 1) by rewrite mean_cst ?ler01.
  rewrite (sum (fun=> 1)) => [|z]; last by rewrite ler01 lexx.
  by congr (_ + _); apply: eq_psum => z; rewrite mul1r.
have lowP : mean mu (fun z => g z * low z) <= g b * H.
  rewrite -psumZ //; apply: le_psum; last exact/summableZ/summable_mean.
  move=> z; rewrite mulr_ge0 //=; last by case/andP: (part01 _ _ g01 low01 z).
  rewrite /= [leRHS]mulrCA ler_wpmul2l // /low; case: (boolP (z < b)%R) => [/ltW /up le|_]; last by rewrite !mulr0.
  by rewrite !mulr1.
have highP : g b * K <= mean mu (fun z => g z * high z).
  rewrite -psumZ //; apply: le_psum; last exact/summable_mean/part01.
  move=> z; rewrite /= !mulr_ge0 //=; last by case/andP: (high01 z).
  rewrite [leLHS]mulrCA ler_wpmul2l // /high; case: (boolP (b <= z)%R) => [/up le|_]; last by rewrite !mulr0.
  by rewrite !mulr1.
rewrite HE (sum g g01) -/low; set A := mean mu _; set B := mean mu _.
have H0 : 0 <= H by apply: ge0_psum.
have K0 : 0 <= K by apply: ge0_psum.
have -> : A <= H * (A + B) = (A * K <= H * B).
  rewrite mulrDr -ler_subl_addl -{1}[A]mulr1 -HK [H * A]mulrC -mulrBr.
  by rewrite addrAC subrr add0r.
apply: le_trans (_ : g b * H * K <= _); first by rewrite ler_wpmul2r.
by rewrite mulrAC mulrC ler_wpmul2l.
Qed.

End Chebyshev.

Section ErrorBars.
Context {R : realType} {I : finType}.
Implicit Types (a : R) (q y : {ffun I -> int}) (c : nat) (t : int) (i : I).

Definition noisy_draw a c q : {distr ({ffun I -> int} * seq I) / R} :=
  \dlet_(y <- laplace_answers a q) \dlet_(u <- ties) dunit (y, top c y u).

Lemma noisy_draw_mass a c q : 0 < a -> psum (noisy_draw a c q) = 1.
Proof.
move=> a0; apply: dlet_mass_one => [|y]; first exact: laplace_answers_mass.
by apply: dlet_mass_one => [|u]; [apply: ties_mass | apply: dunit_mass_one].
Qed.

Lemma noisy_draw_released a c q :
  dmargin (fun w : {ffun I -> int} * seq I => [seq (i, w.1 i) | i <- w.2]) (noisy_draw a c q)
  =1 noisy_release a c q.
Proof.
move=> o; rewrite /dmargin dlet_nested; apply: eq_in_dlet => // y _ o'.
by rewrite dlet_nested; apply: eq_in_dlet => // u _ o''; rewrite dlet_unit.
Qed.

(** The chance that i is selected, by the noisy scores y: it rises with y i. *)
Definition selects c i y : R := \P_[ties] (fun u => i \in top c y u).

Lemma selects01 c i y : 0 <= selects c i y <= 1.
Proof. by rewrite ge0_pr le1_pr. Qed.

Lemma top_rises c y u i (z w : int) : perm_eq u (enum I) -> z <= w ->
  i \in top c (redraw y i z) u -> i \in top c (redraw y i w) u.
Proof.
move=> pu zw; apply: contraTT => out.
pose e : {ffun I -> int} := [ffun j => if j == i then z - w else 0].
have -> : redraw y i z = redraw y i w + e.
  by apply/ffunP => j; rewrite !ffunE; case: eqP => _; rewrite ?addr0 // addrC subrK.
rewrite (top_aligned (t := 0)) // => j; rewrite ffunE.
  by case: eqP => // ->; rewrite (negbTE out).
by case: eqP => // _; rewrite subr_le0.
Qed.

Lemma selects_rises c y i (z w : int) : z <= w ->
  selects c i (redraw y i z) <= selects c i (redraw y i w).
Proof.
move=> zw; apply: le_in_pr => u; rewrite in_dinsupp => /ties_perm pu.
exact: top_rises.
Qed.

Lemma selects_few c q a : \sum_i mean (laplace_answers a q) (selects c i) <= c%:R.
Proof.
have few (s : seq I) : (size s <= c)%N -> \sum_i (i \in s)%:R <= c%:R :> R.
  move=> le; rewrite -natr_sum ler_nat -big_mkcond sum1_card.
  exact: leq_trans (card_size s) le.
have few_y y : \sum_i selects c i y <= c%:R.
  rewrite /selects /pr psum_bigop => [|i u|i]; last exact: summable_pr.
    apply: le_trans (_ : c%:R * psum ties <= _); last by rewrite ties_mass mulr1.
    rewrite -psumZ ?ler0n //; apply: le_psum; last exact: summableZ.
    move=> u; rewrite sumr_ge0 /= => [|i _]; last by rewrite mulr_ge0 ?ler0n.
    by rewrite -mulr_suml ler_wpmul2r // few // size_top geq_minl.
  by rewrite mulr_ge0 ?ler0n.
rewrite /mean psum_bigop => [|i y|i]; last exact: summable_mean (selects01 c i).
  apply: le_trans (_ : c%:R * psum (laplace_answers a q) <= _); last first.
    by rewrite ler_pimulr ?ler0n // le1_mu.
  rewrite -psumZ ?ler0n //; apply: le_psum; last exact: summableZ.
  move=> y; rewrite sumr_ge0 ?andTb => [|i _].
    by rewrite -mulr_sumr mulrC; apply: ler_wpmul2r (few_y y).
  by rewrite mulr_ge0 //; case/andP: (selects01 c i y).
by rewrite mulr_ge0 //; case/andP: (selects01 c i y).
Qed.

Lemma pr_draw a c q (E : {ffun I -> int} -> bool) i :
  \P_[noisy_draw a c q] (fun w => (i \in w.2) && E w.1) =
  mean (laplace_answers a q) (fun y => selects c i y * (E y)%:R).
Proof.
rewrite pr_after; apply: eq_psum => y; congr (_ * _); rewrite pr_after /selects /pr.
rewrite mulrC -psumZ ?ler0n //; apply: eq_psum => u; rewrite -/(pr _ _) pr_dunit /=.
by case: (i \in _); case: (E y); rewrite ?mulr0 ?mul0r ?mulr1 ?mul1r.
Qed.

Lemma pr_answer a (k : int) (E : pred int) :
  \P_[laplace_answer a k] E = \P_[laplace a] (fun z => E (k + z)).
Proof. exact: pr_map. Qed.

Lemma mean_high a q t i : 0 < a ->
  mean (laplace_answers a q) (fun y => (q i + t < y i)%R%:R) = laplace_tail a (t + 1).
Proof.
move=> a0; rewrite (mean_redraw i) => [|j|y]; first last.
- by rewrite ler0n lern1 leq_b1.
- exact: laplace_answer_mass.
rewrite (_ : (fun y => _) = fun=> laplace_tail a (t + 1)).
  by rewrite mean_cst ?laplace_answers_mass // ge0_pr.
apply/funext => y; transitivity (\P_[laplace_answer a (q i)] (fun z => q i + t < z)).
  by apply: eq_psum => z; rewrite ffunE eqxx mulrC.
rewrite pr_answer; apply: eq_psum => z.
by rewrite ltr_add2l lez_addr1.
Qed.

Lemma mean_selected_low a c q t i : 0 < a ->
  mean (laplace_answers a q) (fun y => selects c i y * (y i < q i - t)%R%:R) <=
  laplace_tail a (t + 1) * mean (laplace_answers a q) (selects c i).
Proof.
move=> a0; have mass j : psum (laplace_answer a (q j)) = 1 by exact: laplace_answer_mass.
have low01 y : 0 <= selects c i y * (y i < q i - t)%R%:R <= 1.
  case/andP: (selects01 c i y) => s0 s1.
  by rewrite mulr_ge0 ?ler0n // mulr_ile1 ?ler0n ?lern1 ?leq_b1.
have lowP : \P_[laplace_answer a (q i)] (fun z : int => z < q i - t) = laplace_tail a (t + 1).
  rewrite pr_answer -[t + 1]addrC -[t]opprK -laplace_below_mirror //; apply: eq_psum => z.
  by rewrite opprK ltr_add2l.
rewrite (mean_redraw i) // [in leRHS](mean_redraw i) // => [|y]; last exact: selects01.
apply: le_psum_scaled; first exact: ge0_pr.
- by move=> y; rewrite mulr_ge0 // ge0_psum.
- move=> y; rewrite mulrCA ler_wpmul2l // -lowP.
  apply: le_trans (mean_low (g := fun z => selects c i (redraw y i z)) (q i - t) (mass i) _ _).
  + by rewrite le_eqVlt; apply/orP; left; apply/eqP/eq_psum => z; rewrite ffunE eqxx.
  + by move=> z; apply: selects01.
  + by move=> z w; apply: selects_rises.
- by apply: summable_mean => y; apply: mean01 => z; apply: selects01.
Qed.

(** However the scores lie, so many of the selected are expected to have noise beyond t. *)
Theorem selected_noise_beyond a c q t : 0 < a -> 0 <= t ->
  \sum_i \P_[noisy_draw a c q] (fun w => (i \in w.2) && (t < `|w.1 i - q i|)) <=
  (#|I| + c)%:R * laplace_tail a (t + 1).
Proof.
move=> a0 t0; set tail := laplace_tail a (t + 1).
have tail0 : 0 <= tail by exact: ge0_pr.
apply: le_trans (_ : \sum_i (tail + tail * mean (laplace_answers a q) (selects c i)) <= _).
  apply: ler_sum => i _.
  rewrite (pr_draw _ _ _ (fun y => t < `|y i - q i|)) {1}/tail -(mean_high q t i a0).
  apply: le_trans (ler_add (lexx _) (mean_selected_low c q t i a0)).
  have s01 y := selects01 c i y; have s0 y : 0 <= selects c i y by case/andP: (s01 y).
  have bit01 (b : bool) : 0 <= (b%:R : R) <= 1 by rewrite ler0n lern1 leq_b1.
  have low01 y : 0 <= selects c i y * (y i < q i - t)%R%:R <= 1.
    case/andP: (s01 y) => _ s1; case/andP: (bit01 (y i < q i - t)) => b0 b1.
    by rewrite mulr_ge0 // mulr_ile1.
  apply: mean_le_add => // y; first by rewrite mulr_ge0 ?ler0n.
  case/andP: (s01 y) => _ s1; case: (boolP (q i + t < y i)%R) => high.
    apply: le_trans (_ : 1 <= _); last by rewrite ler_addl mulr_ge0 ?ler0n.
    by rewrite mulr_ile1 ?ler0n ?lern1 ?leq_b1.
  rewrite add0r ler_wpmul2l // ler_nat; case: (boolP (t < _)) => //=; rewrite ltr_normr ltr_subr_addl.
  by rewrite (negbTE high) opprB ltr_subr_addl -ltr_subr_addr orFb => ->.
rewrite big_split /= sumr_const -mulr_sumr natrD mulrDl -[tail *+ _]mulr_natl.
by rewrite ler_add // mulrC ler_wpmul2r // selects_few.
Qed.

Theorem any_selected_noise_beyond a c q t : 0 < a -> 0 <= t ->
  \P_[noisy_draw a c q] (fun w => has (fun i => t < `|w.1 i - q i|) w.2) <=
  (#|I| + c)%:R * laplace_tail a (t + 1).
Proof.
move=> a0 t0; apply: le_trans (selected_noise_beyond c q a0 t0).
rewrite /pr psum_bigop => [|i w|i]; last exact: summable_pr.
  apply: le_psum => [w|]; last first.
    by apply: summable_sum => i _; apply: summable_pr.
  rewrite mulr_ge0 ?ler0n //= -mulr_suml ler_wpmul2r // -natr_sum ler_nat.
  case: hasP => // -[i iw far]; rewrite (bigD1 i) //= iw far; exact: leq_addr.
by rewrite mulr_ge0 ?ler0n.
Qed.

End ErrorBars.
